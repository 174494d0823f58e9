// Leaving: the session ends, what was read is forgotten, the sign-in page comes up.
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { signOut } from "@/api/session";
import { link } from "./context";

export function useSignOut(): () => Promise<void> {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useCallback(async () => {
    await signOut();
    link.stop();
    await navigate({ to: "/sign-in" });
    queries.clear();
  }, [navigate, queries]);
}
