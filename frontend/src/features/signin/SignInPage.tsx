// Signing in: name and password, what went wrong in words, then back to where one wanted to go.
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { asProblem } from "@/api/problem";
import { meQuery, signIn } from "@/api/session";
import { Mark } from "@/app/icons";
import { changeLanguage, LANGUAGES } from "@/i18n";
import "./signin.css";

const SAID_IN_WORDS = new Set(["wrong-password", "too-many-attempts", "second-factor", "unreachable", "server-error"]);

export function SignInPage() {
  const { t, i18n } = useTranslation();
  return (
    <div className="signin">
      <aside aria-hidden="true"><Channel /></aside>
      <main>
        <div className="signin-box">
          <div className="signin-mark"><Mark size={30} /> <span>Headrace</span></div>
          <h1>{t("signin.title")}</h1>
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
      await queries.ensureQueryData(meQuery);
      await navigate({ href: next ?? "/" });
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

/** The channel before the gate, as quiet lines. */
function Channel() {
  const lines = [0.16, 0.3, 0.44, 0.58, 0.72, 0.86];
  return (
    <svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none">
      <rect width="100" height="38" y="62" fill="var(--rail-2)" />
      <rect width="100" height="22" y="78" fill="var(--rail-booked)" />
      {lines.map((share) => (
        <path key={share} d={`M0 ${62 + share * 38}C30 ${61 + share * 38} 60 ${63.5 + share * 38} 100 ${62 + share * 38}`} fill="none"
          stroke="var(--rail-water)" strokeOpacity="0.35" vectorEffect="non-scaling-stroke" />
      ))}
      <path d="M0 62H100" stroke="var(--rail-water)" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
      <path d="M72 18V84" stroke="var(--rail-ink)" strokeWidth="3" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
