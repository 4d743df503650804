import { join } from "node:path";
import { expect } from "vitest";
import { findStackPorts } from "../support/running-stack.ts";
import type { Compiler, ConsumerFolder } from "./consumer-folder.ts";

/** Starts the whole stack with the installed command, and buys one request. */
export async function expectSale({ folder, gatehouse }: ConsumerFolder): Promise<void> {
  const { env } = await findStackPorts();
  const stack = await gatehouse(["stack", "--once", "--state-dir", join(folder, "state")], env);
  expect(stack, stack.stdout).toMatchObject({ status: 0 });
  expect(stack.stdout).toMatch(/by transaction\n {2}0x[0-9a-f]{64}/);
  expect(stack.stdout).toContain("0.01 USDC more");
}

/**
 * Compiles a file that uses every export. Pulumi's policy SDK refers to two names that it does not declare, and causes the same errors
 * without Gatehouse.
 */
export async function expectStrictTypes({ compile }: ConsumerFolder, compiler: Compiler): Promise<void> {
  const printed = await compile(compiler, "every-export.mts", "--module", "nodenext");
  expect(printed.filter((line) => !/^node_modules\/(?:.+\/)?@pulumi\/policy\/index\.d\.ts/.test(line))).toEqual([]);
}
