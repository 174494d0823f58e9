// The search of the top line: jobs and nodes by name, the arrow keys choose, Enter opens.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type RefObject, useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import { searchQuery } from "@/api/queries";

interface Found { key: string; to: string; name: string; kind: string }

export function Search({ inputRef }: { inputRef: RefObject<HTMLInputElement | null> }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const wanted = useDeferredValue(text.trim());
  const { data } = useQuery({ ...searchQuery(wanted), enabled: wanted.length > 0 });
  const found: Found[] = [
    ...(data?.jobs ?? []).map((job) => ({ key: `j${job.id}`, to: `/jobs/${job.id}`, name: job.name || `#${job.id}`, kind: `${t("app.kind.job")} ${job.id}` })),
    ...(data?.nodes ?? []).map((node) => ({ key: `n${node.id}`, to: `/nodes/${node.id}`, name: node.name, kind: t("app.kind.node") })),
  ];
  const leave = () => { setOpen(false); setText(""); inputRef.current?.blur(); };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") leave();
    else if (event.key === "ArrowDown") setActive(Math.min(active + 1, found.length - 1));
    else if (event.key === "ArrowUp") setActive(Math.max(active - 1, 0));
    else if (event.key === "Enter" && wanted) {
      const to = found[active]?.to;
      void (to ? navigate({ to }) : navigate({ to: "/jobs", search: { search: wanted } }));
      leave();
    } else return;
    event.preventDefault();
  };
  const shown = open && wanted.length > 0 && data !== undefined;
  return (
    <div className="search" role="search">
      <label className="box">
        <kbd>/</kbd>
        <input ref={inputRef} value={text} placeholder={t("app.find")} aria-label={t("app.find")} role="combobox" aria-expanded={shown}
          aria-controls="found" aria-activedescendant={shown && found[active] ? found[active].key : undefined} onKeyDown={onKey}
          onFocus={() => setOpen(true)} onBlur={() => setTimeout(() => setOpen(false), 150)}
          onChange={(event) => { setText(event.target.value); setActive(0); setOpen(true); }} />
      </label>
      {shown ? (
        <ul className="found" id="found" role="listbox" aria-label={t("app.find")}>
          {found.length === 0 ? <li className="none" role="option" aria-selected="false">{t("app.foundNothing", { text: wanted })}</li> : null}
          {found.map((item, index) => (
            <li key={item.key} id={item.key} role="option" aria-selected={index === active}>
              <Link to={item.to} data-active={index === active} tabIndex={-1} onClick={leave}>
                <span>{item.name}</span><span className="dim sm">{item.kind}</span>
              </Link>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
