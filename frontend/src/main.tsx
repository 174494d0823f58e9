// Starts the console.
import "@mantine/core/styles/baseline.css";
import "@mantine/core/styles/default-css-variables.css";
import "@mantine/core/styles/global.css";
import "./ui/tokens.css";
import "./ui/base.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./app/context";
import { Themed } from "./app/Themed";
import { router } from "./app/router";
import { startLanguages } from "./i18n";
import { startTheme } from "./lib/theme";

startTheme();
await startLanguages();

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <Themed>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </Themed>
  </StrictMode>,
);
