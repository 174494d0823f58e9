// The smallest change that helps: what to ask for instead, from a dry run; nothing is applied here.
import { useTranslation } from "react-i18next";
import type { Change } from "@/api/types";
import { exactMemory, memory, typeset } from "@/lib/format";

export function asYaml(value: unknown): string {
  if (value == null) return "null";
  if (Array.isArray(value)) return `[${value.map(asYaml).join(", ")}]`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A value as people say it: memory in its unit (exactly beside another that rounds to the same), lists joined. */
function said(field: string, value: unknown, other: unknown): string {
  if (Array.isArray(value)) return value.join(", ");
  if (!/memory$/.test(field) || typeof value !== "number") return asYaml(value);
  return typeof other === "number" && memory(other) === memory(value) ? exactMemory(value) : memory(value);
}

const lastPart = (field: string) => field.split(".").at(-1) ?? field;

interface ChangesProps { changes: readonly Change[]; onTake?: ((change: Change) => void) | undefined; takeWord?: string }

export function Changes({ changes, onTake, takeWord }: ChangesProps) {
  const { t } = useTranslation();
  const [first, ...others] = changes;
  if (!first) return <p className="mut">{t("why.noChange")}</p>;
  return (
    <>
      <div className="diff">
        <div className="m">− {lastPart(first.field)}: {asYaml(first.from)}</div>
        <div className="p">+ {lastPart(first.field)}: {asYaml(first.to)}</div>
      </div>
      <p style={{ margin: "8px 0" }}>{typeset(first.text)}</p>
      {onTake ? (
        <div className="row">
          <button type="button" className="btn pri" onClick={() => onTake(first)}>{takeWord ?? t("why.take")}</button>
        </div>
      ) : null}
      <div style={{ marginTop: 10 }}>
        {others.map((change) => (
          <div className="opt" key={`${change.field}-${asYaml(change.to)}`}>
            <div>
              <span className="med">{lastPart(change.field)}: {said(change.field, change.from, change.to)} → {said(change.field, change.to, change.from)}</span>
              <div className="sm mut">{typeset(change.text)}</div>
            </div>
            {onTake ? <button type="button" className="btn sml" onClick={() => onTake(change)}>{takeWord ?? t("why.takeShort")}</button> : null}
          </div>
        ))}
      </div>
    </>
  );
}

/** A request with one field changed; the field is named with dots. */
export function withChange<T extends object>(spec: T, change: Pick<Change, "field" | "to">): T {
  const [head, ...rest] = change.field.split(".") as [string, ...string[]];
  if (rest.length === 0) return { ...spec, [head]: change.to };
  const inner = (spec as Record<string, unknown>)[head];
  return { ...spec, [head]: withChange((inner ?? {}) as object, { field: rest.join("."), to: change.to }) };
}
