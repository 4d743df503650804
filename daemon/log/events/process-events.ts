import type { LogEventTable } from "./event-row.ts";

/** Events of any long-running process. */
export const processEvents = {
  "service-ready": { level: "info", means: "The service accepts requests at `gatehouse.urls`." },
  "service-stopping": { level: "info", means: "The service received a stop request, or its startup was aborted." },
  "service-stop-waits": { level: "info", means: "Shutdown is waiting for work that must not be interrupted." },
  "service-stopped": { level: "info", means: "The service has stopped." },
  "stop-unclean": {
    level: "error",
    means: "Cleanup failed after a failed startup.",
    act: "Read the startup failure first; this one follows from it.",
  },
  "stop-cut-off": {
    level: "error",
    means: "Work did not finish before the shutdown timeout and was aborted.",
    act: "Restart the service; it resumes the aborted work.",
  },
  "log-level-changed": {
    level: "warn",
    means: "SIGUSR2 changed the log level.",
    act: "Send SIGUSR2 again when done: `debug` is verbose.",
  },
  "log-lines-dropped": {
    level: "warn",
    means: "Standard output was not read for a while, and log lines were dropped.",
    act: "Check the log collector.",
  },
  "task-failed": {
    level: "error",
    means: "A periodic task failed once; `gatehouse.task` has its name.",
    act: "It is retried automatically. If this recurs, report it as a bug, with the stack.",
  },
  "request-failed": {
    level: "error",
    means: "A request got 500 because of an internal error.",
    act: "Report it as a bug, with the stack.",
    runbook: "gateway-errors",
  },
  "file-reloaded": { level: "info", means: "A settings file changed and was reloaded." },
  "file-rejected": {
    level: "error",
    means: "A settings file changed but is invalid; the previous content stays active.",
    runbook: "file-rejected",
  },
  "file-not-watched": {
    level: "error",
    means: "The system sends no file events for a settings file; it is polled every few seconds instead.",
    act: "Raise the system's limit on inotify watches.",
    runbook: "file-rejected",
  },
  "change-made": {
    level: "info",
    means: "A change to money, to the node, or to the permission to act on it; `gatehouse.action` has its name.",
  },
  "engine-call-failed": {
    level: "warn",
    means: "The Docker Engine did not respond to a call that the engine proxy forwarded.",
    act: "Check the engine: `docker info` on its host.",
    runbook: "restart-budget-exhausted",
  },
  "engine-call-refused": {
    level: "warn",
    means: "The engine proxy rejected a call other than its three, or one over its limits.",
    act: "Find out who else uses the proxy's socket: a sidecar stays within its limits.",
  },
} as const satisfies LogEventTable;
