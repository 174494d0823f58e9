// A job by name and number, leading to its page.
import { Link } from "@tanstack/react-router";

export function JobLink({ id, name }: { id: number; name: string }) {
  return <Link to="/jobs/$id" params={{ id }}>{name ? `${name} / ${String(id)}` : String(id)}</Link>;
}
