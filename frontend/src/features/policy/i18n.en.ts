export default {
  title: "Policy",
  reading: "reading the policy",
  activeSince: "version {{number}}, active since {{at}}, by {{by}}",
  system: "the system",
  document: "Document in force",
  readOnly: "read only; a new version is sent through the API",
  tryIt: "What if a weight were different…",
  versions: "Versions",
  number: "Version", author: "Author", reason: "Reason", at: "Written",
  inForce: "in force",
};
