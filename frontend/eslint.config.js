// The laws of the console's source: strict types, hooks in order, fetching only in src/api, colours only as tokens.
import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const rawColour = "/(^|[^&\\w])#[0-9a-fA-F]{3,8}\\b|\\brgba?\\(/";

export default tseslint.config(
  { ignores: ["dist", "coverage", "node_modules", "src/api/schema.d.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strict,
  {
    files: ["**/*.{ts,tsx}"],
    plugins: { "react-hooks": hooks },
    languageOptions: { globals: { window: "readonly", document: "readonly" } },
    rules: {
      ...hooks.configs.recommended.rules,
      "no-undef": "off",
      "max-lines": ["error", 500],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true, argsIgnorePattern: "^_" }],
    },
  },
  {
    files: ["src/**/*.{ts,tsx}"],
    ignores: ["src/api/**", "**/*.test.{ts,tsx}"],
    rules: {
      "no-restricted-globals": [
        "error",
        { name: "fetch", message: "Only src/api talks to the server." },
        { name: "WebSocket", message: "Only src/api talks to the server." },
        { name: "XMLHttpRequest", message: "Only src/api talks to the server." },
      ],
      "no-restricted-syntax": [
        "error",
        { selector: `Literal[value=${rawColour}]`, message: "Name a token of ui/tokens.css, never a raw colour." },
        { selector: `TemplateElement[value.raw=${rawColour}]`, message: "Name a token of ui/tokens.css, never a raw colour." },
      ],
    },
  },
  { files: ["scripts/**", "*.js"], languageOptions: { globals: { URL: "readonly", process: "readonly" } } },
);
