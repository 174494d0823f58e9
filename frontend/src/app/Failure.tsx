// When a page cannot be shown: an address that leads nowhere, and an error with a way on.
import { useQueryErrorResetBoundary } from "@tanstack/react-query";
import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Broken, Empty } from "@/ui/ListLooks";

export function NotFound() {
  const { t } = useTranslation();
  return (
    <div className="page">
      <Empty title={t("app.notFound")}>
        <Link to="/">{t("app.toOverview")}</Link>
      </Empty>
    </div>
  );
}

export function PageError({ error, reset }: ErrorComponentProps) {
  const { t } = useTranslation();
  const router = useRouter();
  const boundary = useQueryErrorResetBoundary();
  const retry = () => {
    boundary.reset();
    reset();
    void router.invalidate();
  };
  return (
    <div className="page">
      <Broken error={error} what={t("app.pageBroken")} onRetry={retry} />
    </div>
  );
}
