// Every address of the console. Pages load when first opened; signed-out people go to the sign-in page and come back.
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import type { QueryClient } from "@tanstack/react-query";
import { mapQuery } from "@/api/queries";
import { isSignedOut, meQuery } from "@/api/session";
import { readImageSearch } from "@/features/images/search";
import { readJobSearch } from "@/features/jobs/search";
import { readWhatIfSearch } from "@/features/whatif/edits";
import { isLocal } from "@/features/signin/next";
import { queries, whenSignedOut } from "./context";
import { NotFound, PageError } from "./Failure";
import { Shell } from "./Shell";

const root = createRootRouteWithContext<{ queries: QueryClient }>()({ notFoundComponent: NotFound, errorComponent: PageError });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search: Record<string, unknown>): { next?: string } => ({ ...(isLocal(search.next) ? { next: search.next } : {}) }),
  component: lazyRouteComponent(() => import("@/features/signin/SignInPage"), "SignInPage"),
});

const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queries.ensureQueryData(meQuery);
    } catch (error) {
      if (isSignedOut(error)) throw redirect({ to: "/sign-in", search: { next: location.href } });
      throw error;
    }
  },
});

const parent = () => inside;
const byId = { parse: ({ id }: { id: string }) => ({ id: Number(id) }), stringify: ({ id }: { id: number }) => ({ id: String(id) }) };
const textSearch = (search: Record<string, unknown>): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(search).map(([key, value]) => [key, value == null ? undefined : String(value)]));

const overview = createRoute({ getParentRoute: parent, path: "/", component: lazyRouteComponent(() => import("@/features/overview/OverviewPage"), "OverviewPage") });
const map = createRoute({
  getParentRoute: parent,
  path: "/map",
  validateSearch: textSearch,
  // The document is read while the page's code loads; the page tells of errors.
  loader: ({ context }) => { void context.queries.prefetchQuery(mapQuery); },
  shouldReload: false,
  component: lazyRouteComponent(() => import("@/features/map/MapPage"), "MapPage"),
});
const jobs = createRoute({ getParentRoute: parent, path: "/jobs", validateSearch: readJobSearch, component: lazyRouteComponent(() => import("@/features/jobs/JobsPage"), "JobsPage") });
const submit = createRoute({
  getParentRoute: parent,
  path: "/jobs/new",
  validateSearch: (search: Record<string, unknown>): { clone?: number; change?: string; template?: number } => ({
    ...(search.clone ? { clone: Number(search.clone) } : {}),
    ...(typeof search.change === "string" ? { change: search.change } : {}),
    ...(search.template ? { template: Number(search.template) } : {}),
  }),
  component: lazyRouteComponent(() => import("@/features/submit/SubmitPage"), "SubmitPage"),
});
const job = createRoute({ getParentRoute: parent, path: "/jobs/$id", params: byId, component: lazyRouteComponent(() => import("@/features/job/JobPage"), "JobPage") });
const queues = createRoute({ getParentRoute: parent, path: "/queues", component: lazyRouteComponent(() => import("@/features/queues/QueuesPage"), "QueuesPage") });
const teams = createRoute({ getParentRoute: parent, path: "/teams", component: lazyRouteComponent(() => import("@/features/teams/TeamsPage"), "TeamsPage") });
const team = createRoute({ getParentRoute: parent, path: "/teams/$slug", component: lazyRouteComponent(() => import("@/features/teams/TeamPage"), "TeamPage") });
const calendar = createRoute({ getParentRoute: parent, path: "/calendar", component: lazyRouteComponent(() => import("@/features/calendar/CalendarPage"), "CalendarPage") });
const nodes = createRoute({ getParentRoute: parent, path: "/nodes", validateSearch: textSearch, component: lazyRouteComponent(() => import("@/features/inventory/NodesPage"), "NodesPage") });
const node = createRoute({ getParentRoute: parent, path: "/nodes/$id", params: byId, validateSearch: textSearch, component: lazyRouteComponent(() => import("@/features/nodes/NodePage"), "NodePage") });
const images = createRoute({ getParentRoute: parent, path: "/images", validateSearch: readImageSearch, component: lazyRouteComponent(() => import("@/features/images/ImagesPage"), "ImagesPage") });
const image = createRoute({ getParentRoute: parent, path: "/images/$id", params: byId, validateSearch: readImageSearch, component: lazyRouteComponent(() => import("@/features/images/ImagePage"), "ImagePage") });
const policy = createRoute({ getParentRoute: parent, path: "/policy", component: lazyRouteComponent(() => import("@/features/policy/PolicyPage"), "PolicyPage") });
const whatIf = createRoute({ getParentRoute: parent, path: "/what-if", validateSearch: readWhatIfSearch, component: lazyRouteComponent(() => import("@/features/whatif/WhatIfPage"), "WhatIfPage") });
const health = createRoute({ getParentRoute: parent, path: "/health", component: lazyRouteComponent(() => import("@/features/health/HealthPage"), "HealthPage") });
const accounts = createRoute({ getParentRoute: parent, path: "/accounts", component: lazyRouteComponent(() => import("@/features/accounts/AccountsPage"), "AccountsPage") });
const tokens = createRoute({ getParentRoute: parent, path: "/tokens", component: lazyRouteComponent(() => import("@/features/accounts/TokensPage"), "TokensPage") });
const status = createRoute({ getParentRoute: parent, path: "/status", component: lazyRouteComponent(() => import("@/features/status/StatusPage"), "StatusPage") });
const settings = createRoute({ getParentRoute: parent, path: "/settings", component: lazyRouteComponent(() => import("@/features/settings/SettingsPage"), "SettingsPage") });

const tree = root.addChildren([
  signIn,
  inside.addChildren([overview, map, jobs, submit, job, queues, teams, team, calendar, nodes, node, images, image, policy, whatIf, health, accounts, tokens, status, settings]),
]);

export const router = createRouter({ routeTree: tree, context: { queries }, defaultErrorComponent: PageError, defaultPreload: "intent", scrollRestoration: true });

whenSignedOut(() => {
  const { href, pathname } = router.state.location;
  if (pathname === "/sign-in") return;
  queries.removeQueries({ queryKey: meQuery.queryKey });
  void router.navigate({ to: "/sign-in", search: { next: href } });
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
