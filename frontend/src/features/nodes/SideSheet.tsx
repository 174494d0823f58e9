// The sheet beside the map: it pushes the map, never covers it. Escape closes it.
import { useEffect, useRef, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import "./sheet.css";

interface SideSheetProps {
  readonly label: string;
  readonly trail: ReactNode;
  readonly title: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function SideSheet({ label, trail, title, onClose, children }: SideSheetProps) {
  const { t } = useTranslation();
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    ref.current?.focus({ preventScroll: true });
  }, []);
  return (
    <aside
      ref={ref} className="sheet" aria-label={label} tabIndex={-1}
      onKeyDown={(event) => { if (event.key === "Escape") onClose(); }}
    >
      <div className="sheethead">
        <div>
          <div className="sm mut">{trail}</div>
          <h1>{title}</h1>
        </div>
        <button type="button" className="icb close" aria-label={t("ui.close")} onClick={onClose}>×</button>
      </div>
      {children}
    </aside>
  );
}

export function SheetSection({ title, note, children }: { title: ReactNode; note?: ReactNode; children: ReactNode }) {
  return (
    <section>
      <h2>{title}{note == null ? null : <span>{note}</span>}</h2>
      {children}
    </section>
  );
}
