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

/** Of a change of a whole section, its fields that differ, one by one. */
export function parts(change: Change): Pick<Change, "field" | "from" | "to">[] {
  const { from, to } = change;
  if (!isFields(from) || !isFields(to)) return [change];
  return Object.keys(to)
    .filter((name) => asYaml(from[name]) !== asYaml(to[name]))
    .map((name) => ({ field: `${change.field}.${name}`, from: from[name], to: to[name] }));
}

const isFields = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const lastPart = (field: string) => field.split(".").at(-1) ?? field;

interface ChangesProps { changes: readonly Change[]; onTake?: ((change: Change) => void) | undefined; takeWord?: string }

export function Changes({ changes, onTake, takeWord }: ChangesProps) {
  const { t } = useTranslation();
  const [first, ...others] = changes;
  if (!first) return <p className="mut">{t("why.noChange")}</p>;
  return (
    <>
      <div className="diff">
        {parts(first).map((part) => <div key={`-${part.field}`} className="m">− {lastPart(part.field)}: {asYaml(part.from)}</div>)}
        {parts(first).map((part) => <div key={`+${part.field}`} className="p">+ {lastPart(part.field)}: {asYaml(part.to)}</div>)}
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
              <span className="med">{parts(change).map((part) => `${lastPart(part.field)}: ${said(part.field, part.from, part.to)} → ${said(part.field, part.to, part.from)}`).join("; ")}</span>
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
