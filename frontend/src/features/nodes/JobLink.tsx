// A job by name and number, leading to its page; of another team's job only the number is known.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";

export function JobLink({ id, name }: { id: number; name: string | null }) {
  const { t } = useTranslation();
  if (name === null) return <span className="dim">{t("nodes.foreignJob", { id: String(id) })}</span>;
  return <Link to="/jobs/$id" params={{ id }}>{name ? `${name} / ${String(id)}` : String(id)}</Link>;
}
