// Signing in: name and password, what went wrong in words, then back to where one wanted to go.
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { asProblem } from "@/api/problem";
import { meQuery, signIn } from "@/api/session";
import { Mark } from "@/app/icons";
import { changeLanguage, LANGUAGES } from "@/i18n";
import { isLocal } from "./next";
import "./signin.css";

const SAID_IN_WORDS = new Set(["wrong-password", "too-many-attempts", "second-factor", "unreachable", "server-error"]);

export function SignInPage() {
  const { t, i18n } = useTranslation();
  return (
    <div className="signin">
      <aside aria-hidden="true"><Mark /></aside>
      <main>
        <div className="signin-box">
          <div className="dim sm">Headrace</div>
          <h1 style={{ marginTop: 2 }}>{t("signin.title")}</h1>
          <SignInForm />
          <div className="row sm" style={{ marginTop: 28, gap: 14 }}>
            {LANGUAGES.map((language) => (
              <button key={language} type="button" className="icb" lang={language} aria-pressed={i18n.language === language}
                onClick={() => void changeLanguage(language)}>
                {language === "en" ? "English" : "中文"}
              </button>
            ))}
          </div>
        </div>
      </main>
    </div>
  );
}

function SignInForm() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { next } = useSearch({ from: "/sign-in" });
  const password = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setFailure(null);
    try {
      await signIn(String(form.get("username")).trim(), String(form.get("password")));
      queries.clear();
      const me = await queries.ensureQueryData(meQuery);
      if (me.language) await changeLanguage(me.language.startsWith("zh") ? "zh-CN" : "en");
      await navigate({ href: isLocal(next) ? next : "/" });
    } catch (error) {
      const { code, message } = asProblem(error);
      setFailure(SAID_IN_WORDS.has(code) ? t(`signin.failure.${code}`) : message);
      setBusy(false);
      password.current?.select();
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} className="signin-form">
      <label htmlFor="username">{t("signin.username")}</label>
      <input id="username" name="username" className="field" autoComplete="username" autoCapitalize="none" spellCheck={false} required autoFocus />
      <label htmlFor="password">{t("signin.password")}</label>
      <input id="password" name="password" type="password" className="field" autoComplete="current-password" required ref={password} />
      {failure ? <div className="broken" role="alert"><b className="crit">{failure}</b></div> : null}
      <button type="submit" className="btn pri" disabled={busy}>{busy ? t("signin.busy") : t("signin.enter")}</button>
    </form>
  );
}
