// Mantine speaks the console's tokens: one hue, four pixel corners, no shadows on what lies flat.
import { createTheme, type CSSVariablesResolver, type MantineColorsTuple, MantineProvider } from "@mantine/core";
import type { ReactNode } from "react";
import { useTheme } from "@/lib/theme";

const ramp = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((step) => `var(--load-${step})`);
const water = [...ramp, "var(--water-deep)"] as unknown as MantineColorsTuple;

const theme = createTheme({
  primaryColor: "water",
  colors: { water },
  defaultRadius: 4,
  fontFamily: "var(--font-ui)",
  fontFamilyMonospace: "var(--font-mono)",
  fontSizes: { xs: "11px", sm: "13px", md: "13px", lg: "15px", xl: "18px" },
  spacing: { xs: "4px", sm: "8px", md: "12px", lg: "16px", xl: "24px" },
  components: { Paper: { defaultProps: { shadow: "none" } }, Card: { defaultProps: { shadow: "none" } } },
});

const tokens = {
  "--mantine-color-body": "var(--surface)",
  "--mantine-color-text": "var(--ink)",
  "--mantine-color-dimmed": "var(--ink-3)",
  "--mantine-color-placeholder": "var(--ink-3)",
  "--mantine-color-default": "var(--raise)",
  "--mantine-color-default-border": "var(--line-strong)",
  "--mantine-color-default-hover": "var(--sunk)",
  "--mantine-color-error": "var(--crit)",
  "--mantine-primary-color-filled": "var(--water)",
  "--mantine-primary-color-filled-hover": "var(--water-deep)",
};

const resolver: CSSVariablesResolver = () => ({ variables: {}, light: tokens, dark: tokens });

export function Themed({ children }: { children: ReactNode }) {
  const scheme = useTheme();
  return (
    <MantineProvider theme={theme} cssVariablesResolver={resolver} forceColorScheme={scheme}>
      {children}
    </MantineProvider>
  );
}
