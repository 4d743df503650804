import type { LogEventTable } from "./event-row.ts";

/** Events of any long-running process. */
export const processEvents = {
  "service-ready": { level: "info", means: "The service takes requests; `gatehouse.urls` says where." },
  "service-stopping": { level: "info", means: "The service was told to stop, or its start was cut off." },
  "service-stop-waits": { level: "info", means: "The stop waits for work that must not be left half done." },
  "service-stopped": { level: "info", means: "The service has stopped." },
  "stop-unclean": {
    level: "error",
    means: "Something could not be closed after a start that had failed.",
    act: "Read the line of the start's failure first; this one follows from it.",
  },
  "stop-cut-off": {
    level: "error",
    means: "Work that a stop waits for did not end in its time, and was cut off.",
    act: "Start the service again: what was cut off is taken up where it ended.",
  },
  "log-level-changed": {
    level: "warn",
    means: "SIGUSR2 changed the level of the log.",
    act: "Send SIGUSR2 again when you have seen enough: `debug` is many lines.",
  },
  "log-lines-dropped": {
    level: "warn",
    means: "Nothing read standard output for a while, and lines of the log were dropped.",
    act: "Look at what collects the logs.",
  },
  "task-failed": {
    level: "error",
    means: "A task that runs again and again failed once; `gatehouse.task` names it.",
    act: "It runs again by itself. If the line returns, report it as a bug, with the stack.",
  },
  "request-failed": {
    level: "error",
    means: "A request was answered 500 by the service's own fault.",
    act: "Report it as a bug, with the stack.",
    runbook: "gateway-errors-fast",
  },
  "file-reloaded": { level: "info", means: "A file of settings changed and is in force." },
  "file-rejected": {
    level: "error",
    means: "A file of settings changed and can't be used; what was read before stays in force.",
    runbook: "file-rejected",
  },
  "file-not-watched": {
    level: "error",
    means: "The system gives no events for a file of settings; it is looked at every few seconds instead.",
    act: "Raise the system's limit of inotify watches.",
    runbook: "file-rejected",
  },
  "change-made": {
    level: "info",
    means: "A change of money, of the node or of who may act on it; `gatehouse.action` names it.",
  },
  "engine-call-failed": {
    level: "warn",
    means: "The Docker Engine did not answer a call that the engine proxy let through.",
    act: "Look at the engine: `docker info` on its host.",
    runbook: "restart-budget-exhausted",
  },
  "engine-call-refused": {
    level: "warn",
    means: "The engine proxy refused a call other than its three, or too many of them.",
    act: "Find out who else uses the proxy's socket: a sidecar requests no more than it may.",
  },
} as const satisfies LogEventTable;
