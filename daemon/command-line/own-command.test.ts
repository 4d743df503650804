import { execFileSync } from "node:child_process";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import packageJson from "../../package.json" with { type: "json" };
import { formatOwnCommand } from "./own-command.ts";
import { quoteShellWord } from "./shell-word.ts";

const root = join(import.meta.dirname, "../..");

test.each([
  ["anywhere", formatOwnCommand(), tmpdir()],
  ["in the folder it was printed for", formatOwnCommand(root), root],
])("the printed command runs this version %s, without querying the registry", (_, command, cwd) => {
  expect(command.startsWith("npx")).toBe(cwd === root);
  const versionOutput = execFileSync("sh", ["-c", `${command} --version`], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, npm_config_registry: "http://127.0.0.1:1" },
  });
  expect(versionOutput).toBe(`${packageJson.version}\n`);
});

test("is short in the installation folder, and a full path elsewhere", () => {
  expect(formatOwnCommand(root)).toBe("npx gatehouse-evm");
  expect(formatOwnCommand(join(root, "docs"))).toBe(formatOwnCommand());
  expect(formatOwnCommand()).toBe(quoteShellWord(join(root, "cli/gatehouse.sh")));
});

test("is spelled as on the pages in a folder where the package is installed", async () => {
  const folder = await makeTestDirectory();
  expect(formatOwnCommand(folder)).toBe(formatOwnCommand());
  await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
  await symlink(join(root, "cli/gatehouse.sh"), join(folder, "node_modules/.bin/gatehouse-evm"));
  expect(formatOwnCommand(folder)).toBe("npx gatehouse-evm");
});

test("is just the name if the shell resolves it to this binary, but not if it finds a different one", async () => {
  const folder = await makeTestDirectory();
  vi.stubEnv("PATH", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  await symlink(join(root, "cli/gatehouse.sh"), join(folder, "gatehouse"));
  expect(formatOwnCommand()).toBe("gatehouse");
  await rm(join(folder, "gatehouse"));
  await writeFile(join(folder, "gatehouse"), "another");
  expect(formatOwnCommand()).not.toBe("gatehouse");
});
