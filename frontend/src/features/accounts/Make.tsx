// New users and teams. A password chosen by the server is shown once.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { createTeam, createUser } from "@/api/actions";
import { keys } from "@/api/keys";
import { asProblem, type Problem } from "@/api/problem";
import type { Me } from "@/api/types";
import { Copyable } from "@/ui/ApiCall";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";

function Foot({ problem, onClose }: { problem: Problem | null; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <>
      {problem && problem.errors.length === 0 ? <div className="broken" role="alert">{problem.message}</div> : null}
      <div className="row" style={{ justifyContent: "flex-end" }}>
        <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
        <button type="submit" className="btn pri">{t("accounts.create")}</button>
      </div>
    </>
  );
}

export function MakeUser({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [password, setPassword] = useState<string | null>(null);
  const make = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const email = String(form.get("email")).trim();
    createUser({ username: String(form.get("username")).trim(), role: form.get("role") as Me["role"], ...(email ? { email } : {}) }).then(
      (user) => { setPassword(user.password ?? ""); void queries.invalidateQueries({ queryKey: keys.users }); },
      (error: unknown) => setProblem(asProblem(error)),
    );
  };
  if (password !== null) {
    return (
      <Dialog title={t("accounts.newUser")} onClose={onClose}>
        <p style={{ marginBottom: 8 }}>{t("accounts.passwordOnce")}</p>
        <Copyable text={password} />
        <div className="row" style={{ marginTop: 14, justifyContent: "flex-end" }}><button type="button" className="btn pri" onClick={onClose}>{t("accounts.done")}</button></div>
      </Dialog>
    );
  }
  return (
    <Dialog title={t("accounts.newUser")} onClose={onClose}>
      <form onSubmit={make} style={{ display: "grid", gap: 12 }}>
        <Field label={t("accounts.username")} name="username" problem={problem}><input className="field" name="username" required maxLength={150} autoCapitalize="none" /></Field>
        <Field label={t("accounts.emailOptional")} name="email" problem={problem}><input className="field" name="email" type="email" /></Field>
        <Field label={t("accounts.role")} name="role" problem={problem}>
          <select className="field" name="role" defaultValue="member">{(["admin", "operator", "member"] as const).map((role) => <option key={role} value={role}>{t(`accounts.roles.${role}`)}</option>)}</select>
        </Field>
        <p className="sm mut">{t("accounts.passwordMade")}</p>
        <Foot problem={problem} onClose={onClose} />
      </form>
    </Dialog>
  );
}

export function MakeTeam({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [problem, setProblem] = useState<Problem | null>(null);
  const make = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    createTeam({ slug: String(form.get("slug")).trim(), name: String(form.get("name")).trim() }).then(
      () => { void queries.invalidateQueries({ queryKey: keys.teams }); onClose(); },
      (error: unknown) => setProblem(asProblem(error)),
    );
  };
  return (
    <Dialog title={t("accounts.newTeam")} onClose={onClose}>
      <form onSubmit={make} style={{ display: "grid", gap: 12 }}>
        <Field label={t("accounts.slug")} name="slug" problem={problem}><input className="field" name="slug" required maxLength={50} pattern="[a-z0-9]([a-z0-9\-]*[a-z0-9])?" autoCapitalize="none" /></Field>
        <Field label={t("accounts.name")} name="name" problem={problem}><input className="field" name="name" required maxLength={100} /></Field>
        <Foot problem={problem} onClose={onClose} />
      </form>
    </Dialog>
  );
}
