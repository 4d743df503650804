import type { LogEventTable } from "./event-row.ts";

export const processEvents = {
  "service-ready": { level: "info" },
  "service-stopping": { level: "info" },
  "service-stop-waits": { level: "info" },
  "service-stopped": { level: "info" },
  "stop-unclean": { level: "error", act: "Read the startup failure first; it caused this one." },
  "stop-cut-off": { level: "error", act: "Restart the service; it resumes the aborted work." },
  "log-level-changed": { level: "warn", act: "Send SIGUSR2 again when done: `debug` is verbose." },
  "log-lines-dropped": { level: "warn", act: "Check the log collector." },
  "task-failed": {
    level: "error",
    act: "It is retried automatically. If this recurs, report it as a bug, with the stack.",
  },
  "request-failed": {
    level: "error",
    act: "Report it as a bug and include the stack trace.",
    runbook: "gateway-errors",
  },
  "file-reloaded": { level: "info" },
  "file-rejected": { level: "error", runbook: "file-rejected" },
  "file-not-watched": { level: "error", act: "Raise the system's limit on inotify watches.", runbook: "file-rejected" },
  "change-made": { level: "info" },
  "engine-call-failed": {
    level: "warn",
    act: "Check the engine: `docker info` on its host.",
    runbook: "restart-budget-exhausted",
  },
  "engine-call-rejected": {
    level: "warn",
    act: "Find out who else uses the proxy's socket: a sidecar stays within its limits.",
  },
} as const satisfies LogEventTable;
