// One field of a form with its label, and what the server said of it.
import type { ReactNode } from "react";
import type { Problem } from "@/api/problem";

export function Field({ label, problem, name, children }: { label: string; problem: Problem | null; name: string; children: ReactNode }) {
  const message = problem?.fieldMessage(name);
  return (
    <label style={{ display: "grid", gap: 4 }}>
      <span className="sm mut">{label}</span>
      {children}
      {message ? <span className="sm crit" role="alert">{message}</span> : null}
    </label>
  );
}
