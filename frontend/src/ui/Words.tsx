// Words for what is not a number: unknown, none, not applicable; and a figure with its unit.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

export function Unknown({ why }: { why?: string }) {
  const { t } = useTranslation();
  return (
    <span className="unk" title={why ?? t("ui.unknownWhy")}>
      {t("ui.unknown")}
    </span>
  );
}

export function None() {
  const { t } = useTranslation();
  return <span className="dim">{t("ui.none")}</span>;
}

export function NotApplicable() {
  const { t } = useTranslation();
  return <span className="dim">{t("ui.notApplicable")}</span>;
}

/** A value as `format` writes it, or the word unknown. Never 0 for a missing reading. */
export function Known<T>({ value, format }: { value: T | null | undefined; format: (value: T) => ReactNode }) {
  return value == null ? <Unknown /> : <>{format(value)}</>;
}

export function Figure({ value, unit }: { value: ReactNode; unit?: ReactNode }) {
  return (
    <span className="fig">
      {value}
      {unit ? <span className="u">{unit}</span> : null}
    </span>
  );
}
