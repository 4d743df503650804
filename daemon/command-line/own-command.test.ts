import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { formatOwnCommand } from "./own-command.ts";
import { quoteShellWord } from "./shell-word.ts";

const root = join(import.meta.dirname, "../..");

test.each([
  ["anywhere", formatOwnCommand(), tmpdir()],
  ["in the folder that it was made for", formatOwnCommand(root), root],
])("the command runs this very program %s, without npx", (_, command, cwd) => {
  expect(command).not.toContain("npx");
  const printed = execFileSync("sh", ["-c", `${command} --version`], { cwd, encoding: "utf8" });
  expect(printed).toBe(`${packageJson.version}\n`);
});

test("it is short in the folder of the program, and whole where that is elsewhere", () => {
  expect(formatOwnCommand(root)).toMatch(/ cli\/gatehouse\.js$/);
  expect(formatOwnCommand(join(root, "docs"))).toBe(formatOwnCommand());
  expect(formatOwnCommand()).toContain(quoteShellWord(join(root, "cli/gatehouse.js")));
});
