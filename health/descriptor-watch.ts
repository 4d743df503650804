import type { ConnectionState } from "#daemon/http/connections/connection-budget.ts";
import type { Logger } from "#daemon/log.ts";
import { poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { descriptorCondition, type ConnectionSettingNames } from "./descriptor-condition.ts";

const intervalMs = 1_000;

/** Tells whether the process has file descriptors and connections left, until it is disposed of. */
export function watchDescriptors(
  state: () => ConnectionState,
  { board, log, setting }: Readonly<{ board: ConditionBoard; log: Logger; setting: ConnectionSettingNames }>,
): AsyncDisposable {
  const stopping = new AbortController();
  const look = () => {
    board.set(descriptorCondition(state(), setting));
    return Promise.resolve();
  };
  const watching = poll({ name: "descriptors", intervalMs, signal: stopping.signal }, look, { log });
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await watching;
    },
  };
}
