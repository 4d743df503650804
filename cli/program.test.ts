import type { Command, CommanderError } from "commander";
import { expect, test } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { createProgram } from "./program.ts";

/** Runs an invalid command line without exiting this process; returns its exit status and output. */
async function runRejected(typed: string) {
  const program = createProgram({ mask: createMask() });
  let said = "";
  const capture = (command: Command) => {
    command.exitOverride().configureOutput({ writeErr: (text) => void (said += text) });
    for (const inner of command.commands) capture(inner);
  };
  capture(program);
  const rejection = await program.parseAsync(typed.split(" "), { from: "user" }).then(
    () => undefined,
    (error: unknown) => error as CommanderError,
  );
  return { status: rejection?.exitCode, said };
}

test.each([
  ["config dump sidcar", ["Did you mean sidecar?"]],
  ["completion basj", ["Did you mean bash?"]],
  ["config lint --format jsn", ["Did you mean json?"]],
  ["config dump nothing-like-it", ["Choose one of sidecar, gateway,"]],
  ["sidecar --setings x", ['("gatehouse sidecar --help" shows how to use it)']],
  ["status --page", ["status --page requires --targets"]],
  ["status --page nine --targets node", ["Expected a port, a whole number from 0 to 65535."]],
  ["config dmp sidecar", ['("gatehouse config --help" lists the commands)']],
])("gatehouse %s exits with 1, suggests the intended command and refers to the help", async (typed, words) => {
  const { status, said } = await runRejected(typed);
  expect(status).toBe(1);
  for (const each of words) expect(said).toContain(each);
});
