import { expect, test } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { parseConfig } from "#infra/stack-config.ts";
import { buildStackOutputs } from "#infra/stack-outputs.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { createPayCommand } from "../../cli/commands/pay-command.ts";

test("a stack's purchase command has only options of gatehouse pay", () => {
  const { tryThis } = buildStackOutputs(parseConfig({ devAccounts: "true", tokenAddress }));
  const [, , ...typed] = tryThis.at(-1)?.split(" ") ?? [];
  const { operands, unknown } = createPayCommand({ mask: createMask() }).parseOptions(typed);
  expect([operands, unknown]).toEqual([["http://127.0.0.1:4021/data"], []]);
});
