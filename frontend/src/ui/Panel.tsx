// A panel: a hairline, a title at the left, one note at the right. The page's main fact has a signal rule instead.
import type { ReactNode } from "react";

interface PanelProps {
  title: ReactNode;
  meta?: ReactNode;
  main?: boolean;
  className?: string;
  children: ReactNode;
}

export function Panel({ title, meta, main = false, className = "", children }: PanelProps) {
  return (
    <section className={`panel ${main ? "main" : ""} ${className}`}>
      <header>
        <h2 className={main ? "sig" : undefined}>{title}</h2>
        {meta == null ? null : <span className="meta">{meta}</span>}
      </header>
      {children}
    </section>
  );
}

/** Title, one line of words and the actions of a page. */
export function PageHead({ title, sub, trail, actions }: { title: ReactNode; sub?: ReactNode; trail?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="head">
      <div>
        {trail ? <div className="sm mut">{trail}</div> : null}
        <h1 style={trail ? { marginTop: 2 } : undefined}>{title}</h1>
      </div>
      {sub ? <span className="sub">{sub}</span> : null}
      {actions ? <div className="acts">{actions}</div> : null}
    </div>
  );
}

/** A grid of columns given in parts of the width; one column on a phone. */
export function Columns({ parts, children, top = 0 }: { parts: readonly number[]; children: ReactNode; top?: number }) {
  const columns = parts.map((part) => `minmax(0,${part}fr)`).join(" ");
  return (
    <div className="grid" style={{ gridTemplateColumns: columns, marginTop: top }}>
      {children}
    </div>
  );
}
