// The same thing without the console: the equivalent API call, behind a button.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "./Dialog";

export interface Call { method: string; path: string; body?: unknown; cli?: string; note?: string }

/** The call as curl writes it; the token stands in a variable, never in the text. */
export function curl({ method, path, body }: Call): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${window.location.origin}${path}`, `  -H "Authorization: Bearer $HEADRACE_TOKEN"`];
  if (body !== undefined) {
    const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    lines.push(`  -H "Content-Type: application/json"`, `  -d '${json}'`);
  }
  return lines.join(" \\\n");
}

export function ApiCall({ call, small = false }: { call: Call; small?: boolean }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={`btn ${small ? "sml" : ""}`} onClick={() => setOpen(true)}>{t("ui.apiCall")}</button>
      {open ? (
        <Dialog title={t("ui.apiCall")} onClose={() => setOpen(false)}>
          <Copyable text={curl(call)} />
          {call.cli ? <><h3 style={{ margin: "12px 0 6px" }}>{t("ui.cli")}</h3><Copyable text={call.cli} /></> : null}
          {call.note ? <p className="sm mut" style={{ marginTop: 8 }}>{call.note}</p> : null}
        </Dialog>
      ) : null}
    </>
  );
}

export function Copyable({ text }: { text: string }) {
  const { t } = useTranslation();
  const [copied, setCopied] = useState(false);
  const copy = () => void navigator.clipboard?.writeText(text).then(() => setCopied(true));
  return (
    <div className="copyable">
      <pre className="code" tabIndex={0}>{text}</pre>
      {navigator.clipboard ? (
        <button type="button" className="btn sml" onClick={copy}>
          {copied ? t("ui.copied") : t("ui.copy")}
        </button>
      ) : null}
    </div>
  );
}
