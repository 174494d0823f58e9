// The host key that a machine shows, beside what a person compares it with.
import { type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { HostKey } from "@/api/types";
import { Copyable } from "@/ui/ApiCall";

const FILES: Record<string, string> = { "ssh-ed25519": "ed25519", "ssh-rsa": "rsa" };

/** What prints the same fingerprint on the machine itself. */
export function printsIt({ host_key }: HostKey): string {
  const kind = host_key.split(" ")[0] ?? "";
  return `ssh-keygen -lf /etc/ssh/ssh_host_${FILES[kind] ?? "ecdsa"}_key.pub`;
}

export function HostKeyCheck({ shown, children }: { shown: HostKey; children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <div style={{ display: "grid", gap: 12 }}>
      <p className="mut">{t("remote.compare")}</p>
      <Copyable text={printsIt(shown)} />
      <p className="mono b" data-fingerprint>{shown.fingerprint}</p>
      <div className="row wrap" style={{ justifyContent: "flex-end" }}>{children}</div>
    </div>
  );
}
