export default {
  title: "Sign in",
  username: "Name or e-mail",
  password: "Password",
  enter: "Sign in",
  busy: "Signing in",
  failure: {
    "wrong-password": "Name or password is wrong.",
    "too-many-attempts": "Too many attempts. Wait a few minutes, then try again.",
    "second-factor": "This account asks for a second factor, which this page cannot take yet. Use an API token.",
    unreachable: "The server does not answer.",
    "server-error": "The server reports an error. Try again in a moment.",
  },
};
