import type { ConnectionState } from "#daemon/http/connections/connection-budget.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { pollCheck } from "#status/failed-check.ts";
import type { ConditionReport } from "#status/condition.ts";

const intervalMs = 1_000;

/** Reports whether the process has file descriptors and connections left, until disposed of. */
export function watchDescriptors(
  state: () => ConnectionState,
  { board, log, setting }: Readonly<{ board: ConditionBoard; log: Logger; setting: ConnectionSettingNames }>,
): AsyncDisposable {
  const what = "The count of file descriptors and connections";
  return pollCheck(
    { name: "descriptors", what, types: ["ConnectionsAvailable"], intervalMs },
    async () => board.set(deriveDescriptorCondition(state(), setting)),
    { board, log },
  );
}

/** How long a shortage is reported after the last connection was rejected or closed because the limit was reached. */
const shortForMs = 30_000;

/** Share of the limit at which descriptors count as short, whatever uses them. */
const shortShare = 0.95;

/** Advice on a limit that is too low; where to set the limit depends on what starts the process. */
const raise =
  "raise the limit of open files (ulimit -n, LimitNOFILE= in systemd, --ulimit nofile in Docker) and restart this process";

/** Advice on a limit derived from memory: a quarter of the memory at 40 KiB per connection, or a third of the heap at 20 KiB. */
const moreMemory =
  "give this process or its container more memory: 160 KiB per additional connection, and 60 KiB of heap if --max-old-space-size is set";

/** Names of the settings that limit connections. */
type ConnectionSettingNames = Readonly<{ connections: string; connectionsPerAddress: string }>;

/** Derives whether the process has file descriptors and connections left. Pure. */
export function deriveDescriptorCondition(
  state: ConnectionState,
  setting: ConnectionSettingNames,
): ConditionReport<"ConnectionsAvailable"> {
  const type = "ConnectionsAvailable";
  const { open, max, fullForMs, bound } = state;
  const { used, limit } = state.descriptors;
  if (used === undefined || limit === Number.POSITIVE_INFINITY) {
    const message = `This system does not report the process's limit of open files; ${open} connections are open.`;
    return { type, status: "Unknown", reason: "NotCounted", message };
  }
  const held = `${used} of ${limit} file descriptors are open, ${open} of at most ${max} connections.`;
  const isFull = fullForMs !== undefined && fullForMs < shortForMs;
  if (used > limit * shortShare || (isFull && bound === "descriptors")) {
    const done = isFull ? " Idle connections are closed for new ones; if none is idle, callers are rejected." : "";
    const message = `${held}${done} If the callers are wanted, ${raise}; if not, lower ${setting.connectionsPerAddress}.`;
    return { type, status: "False", reason: "FileDescriptorsLow", message };
  }
  if (isFull) {
    const more = bound === "memory" ? moreMemory : `raise ${setting.connections}`;
    const message = `${held} Idle connections are closed for new ones; if none is idle, callers are rejected. If the callers are wanted, ${more}; if not, lower ${setting.connectionsPerAddress}.`;
    return { type, status: "False", reason: "ConnectionsFull", message };
  }
  return { type, status: "True", reason: "Available", message: held };
}
