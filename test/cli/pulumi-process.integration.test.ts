import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { createPulumiCli } from "../../cli/stack-upgrade/pulumi/pulumi-cli.ts";
import { createPulumiProcess, type PulumiError } from "../../cli/stack-upgrade/pulumi/pulumi-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const directory = makeSharedDirectory();
const process_ = fileURLToPath(new URL("../../cli/stack-upgrade/pulumi/pulumi-process.ts", import.meta.url));
const reported = async () => (await readFile(join(directory, "reported"), "utf8").catch(() => "")).trim().split("\n");

async function standIn(script: string): Promise<string> {
  const path = join(directory, "pulumi");
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

describe("the Pulumi command line", () => {
  test("gets its arguments unchanged, and its output is passed on as it arrives", async () => {
    const run = createPulumiProcess(directory, { program: await standIn('printf "%s\\n" "$@"; printf "no end" >&2') });
    const lines: string[] = [];
    const printed = await run({
      args: ["up", "a b", "$(id)"],
      withinMs: generousMs,
      onLine: (line) => lines.push(line),
    });
    expect(printed).toBe("up\na b\n$(id)\n");
    expect(lines).toEqual(["up", "a b", "$(id)", "no end"]);
  });

  test("returns its last lines if it fails", async () => {
    const run = createPulumiProcess(directory, { program: await standIn("echo it broke; echo because >&2; exit 7") });
    const failed = run({ args: ["up", "--yes"], withinMs: generousMs });
    await expect(failed).rejects.toThrow("pulumi up --yes ended with 7: it broke | because");
  });

  test("explains what to do if it is missing", async () => {
    const run = createPulumiProcess(directory, { program: join(directory, "nothing") });
    await expect(run({ args: ["up"], withinMs: generousMs })).rejects.toThrow("install Pulumi");
  });

  test("is interrupted once at its time limit, and may record what it has done", async () => {
    const script = `trap 'echo interrupted >> reported; exit 3' INT; while :; do sleep 0.1; done`;
    const run = createPulumiProcess(directory, { program: await standIn(script) });
    const failedError: unknown = await run({ args: ["up"], withinMs: 2_000 }).catch((error: unknown) => error);
    expect((failedError as PulumiError).message).toContain("took longer than 2000 ms");
    expect(await reported()).toEqual(["interrupted"]);
    await rm(join(directory, "reported"));
  });

  test("is killed if it continues after the interrupt, with its plugins in their own process groups", async () => {
    const script = `trap '' INT; setsid sleep 1000 & echo $! >> reported; echo $$ >> reported; while :; do sleep 0.1; done`;
    const run = createPulumiProcess(directory, { program: await standIn(script), exitGraceMs: 100 });
    await expect(run({ args: ["up"], withinMs: 3_000 })).rejects.toThrow("took longer than 3000 ms");
    const pids = await reported();
    expect(pids).toHaveLength(2);
    for (const pid of pids) {
      await until("it is gone", generousMs, async () => {
        const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") Z");
        return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
      });
    }
    await rm(join(directory, "reported"));
  });

  test("runs to completion if the command is killed", async () => {
    const path = await standIn(
      "echo begun >> reported; while [ ! -e go ]; do sleep 0.1; echo more; done; echo ended >> reported",
    );
    const program = `const { createPulumiProcess } = await import(${JSON.stringify(process_)});
      await createPulumiProcess(${JSON.stringify(directory)}, ${JSON.stringify({ program: path })})({ args: ["up"], withinMs: 60_000 });`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "ignore" });
    await until("it has begun", generousMs, async () => (await reported())[0] === "begun");
    child.kill("SIGKILL");
    await once(child, "exit");
    await writeFile(join(directory, "go"), "");
    await until("it ends", generousMs, async () => (await reported())[1] === "ended");
  });

  test("previews with its own configuration, and leaves the stack's unchanged", async () => {
    const script = `for arg in "$@"; do [ "$before" = --config-file ] && file="$arg"; before="$arg"; done
      case "$1 $2" in
      "config set-all") echo "$4" >> "$file" ;;
      "preview --json") cat "$file" >> reported; echo '{ "steps": [{ "op": "same", "urn": "urn:x" }] }' ;;
      esac`;
    const run = createPulumiProcess(directory, { program: await standIn(script) });
    const configFile = join(directory, "Pulumi.prod.yaml");
    await writeFile(configFile, "of the stack\n");
    await rm(join(directory, "reported"), { force: true });
    const pulumi = createPulumiCli({ stack: "prod", configFile }, { run });
    expect(await pulumi.preview({ "gatehouse:nodeImage": "b:2" })).toEqual([{ op: "same", urn: "urn:x" }]);
    expect(await reported()).toEqual(["of the stack", "gatehouse:nodeImage=b:2"]);
    expect(await readFile(configFile, "utf8")).toBe("of the stack\n");
  });

  test("quotes the error from the JSON document if a preview fails", async () => {
    const document = JSON.stringify(
      {
        diagnostics: [
          { message: "a note\n", severity: "info" },
          { message: '\u001b[31merror: nodeImage "x" is odd\u001b[0m\n', severity: "error" },
        ],
        changeSummary: { same: 1 },
      },
      undefined,
      4,
    );
    await writeFile(join(directory, "failed.json"), document);
    const run = createPulumiProcess(directory, {
      program: await standIn('[ "$1" = preview ] || exit 0; cat failed.json; exit 1'),
    });
    const configFile = join(directory, "Pulumi.prod.yaml");
    await writeFile(configFile, "");
    const failed = createPulumiCli({ stack: "prod", configFile }, { run }).preview({ "gatehouse:nodeImage": "b:2" });
    await expect(failed).rejects.toThrow('pulumi preview failed: error: nodeImage "x" is odd');
  });
});
