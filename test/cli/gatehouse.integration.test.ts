import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { runGatehouse } from "../support/run-command.ts";
import { startSilentServer } from "../support/silent-server.ts";
import { gatehouseProgram } from "../support/programs/place.ts";

const address = `0x${"aa".repeat(20)}`;

describe("gatehouse", () => {
  it("lists its commands", async () => {
    const help = await runGatehouse(["--help"]);
    for (const name of ["stack", "sidecar", "facilitator", "resource-server", "pay"]) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name}\\b`, "m"));
    }
    expect(help.stdout).not.toMatch(/^  (?:pushgateway|devnet|completion)\b/m);
  });

  it.each([
    ["sidcar", 1, ["Did you mean sidecar?", '("gatehouse --help" lists the commands)']],
    ["pay --max-amout 1 http://x", 2, ["Did you mean --max-amount?", '("gatehouse pay --help" shows how to use it)']],
  ] as const)(
    "%s: exits with %i, suggests the intended command and refers to the help",
    async (typed, status, said) => {
      const ended = await runGatehouse(typed.split(" "));
      expect(ended.status).toBe(status);
      for (const words of said) expect(ended.stderr).toContain(words);
    },
  );

  it("lists a service's required settings first, in 80 columns, names the others, and explains all with --all", async () => {
    const { stdout } = await runGatehouse(["facilitator", "--help"]);
    const settings = stdout.slice(stdout.indexOf("Settings to begin with:"), stdout.indexOf(" more have defaults"));
    expect([...settings.matchAll(/\[([\w.]+)\]$/gm)].map(([, key]) => key)).toEqual([
      "assets",
      "signer.privateKey",
      "payees",
      "chain.rpcUrl",
      "chain.id",
    ]);
    expect(settings.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toContain("GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY  [signer.privateKey]");
    expect(stdout).toMatch(/GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE with a file's\s+path/);
    expect(stdout).not.toContain("GATEHOUSE_FACILITATOR_SETTLEMENT_BATCH_MAX");
    expect(stdout).toMatch(/^ {2}settlement +receiptTimeoutMs, .*confirmations/m);
    const all = await runGatehouse(["facilitator", "--help", "--all"]);
    expect(all.stdout).toContain("GATEHOUSE_FACILITATOR_SETTLEMENT_BATCH_MAX  [settlement.batchMax]");
    const mistaken = await runGatehouse(["facilitator", "--all"]);
    expect([mistaken.status, mistaken.stderr]).toEqual([
      1,
      expect.stringContaining("gatehouse facilitator --help --all"),
    ]);
  });

  it("keeps the sidecar's help to two screens", async () => {
    const { stdout } = await runGatehouse(["sidecar", "--help"]);
    expect(stdout.split("\n").length).toBeLessThan(80);
  });

  it("completes commands and options in a real bash", async () => {
    const directory = await makeTestDirectory();
    const script = join(directory, "completion.bash");
    await writeFile(script, (await runGatehouse(["completion", "bash"])).stdout);
    await writeFile(
      join(directory, "gatehouse"),
      `#!/bin/sh\nexec "${process.execPath}" "${gatehouseProgram}" "$@"\n`,
      {
        mode: 0o755,
      },
    );
    const completed = (...words: readonly string[]) =>
      execFileSync(
        "bash",
        [
          "-c",
          `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}; __gatehouse_complete; printf '%s\\n' "\${COMPREPLY[@]}"`,
          script,
          ...words,
        ],
        { env: { PATH: `${directory}:${process.env["PATH"]}` }, encoding: "utf8" },
      );
    expect(completed("gatehouse", "resource-s")).toContain("resource-server");
    expect(completed("gatehouse", "config", "dump", "faci")).toContain("facilitator");
  });
});

describe("a service that can't start", () => {
  it.each([
    [
      "facilitator",
      ["FACILITATOR_SIGNER_PRIVATE_KEY: missing; expected private keys of 64 hexadecimal digits each (0x"],
    ],
    ["resource-server", ["PAY_TO", "ROUTES_PATH", "TOKEN_ADDRESS"].map((name) => `RESOURCE_SERVER_${name}: missing;`)],
  ])("exits with 1 and reports everything that is missing: %s", async (service, missing) => {
    const { status, stderr } = await runGatehouse([service]);
    expect(status).toBe(1);
    for (const words of missing) expect(stderr).toContain(`${service}: GATEHOUSE_${words}`);
  });

  it("never shows a secret that it rejects", async () => {
    const { stderr } = await runGatehouse(["facilitator"], { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: "0xsecret" });
    expect(stderr).not.toContain("0xsecret");
  });

  it("exits with 1 if the Docker Engine's socket is a directory, created by the engine itself", async () => {
    const directory = await makeTestDirectory();
    const { status, stderr } = await runGatehouse(["engine-proxy"], {
      GATEHOUSE_ENGINE_PROXY_ENGINE: `unix://${directory}`,
      GATEHOUSE_ENGINE_PROXY_CONTAINER: "node",
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining(`engine-proxy: ${directory} is a directory, which`)]);
  });

  it("exits with 1 and reports the port in use with its setting", async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const { port } = squatter.address() as AddressInfo;
    const { status, stderr } = await runGatehouse(["sidecar"], {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: await makeTestDirectory(),
      GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: String(port),
    });
    expect([status, stderr]).toEqual([
      1,
      `sidecar: port ${port} on 127.0.0.1 is in use; stop the process that uses it (\`ss -ltnp 'sport = :${port}'\` shows it), or set GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT to another port.\n`,
    ]);
    squatter.close();
  });
});

async function makePipe(): Promise<string> {
  const directory = await makeTestDirectory();
  const pipe = join(directory, "pipe");
  execFileSync("mkfifo", [pipe]);
  return pipe;
}

describe("a command that reads a node.conf", () => {
  // Both commands read the file with the same function, tested in daemon/files/regular-file.test.ts.
  it.each([
    ["lint", "a device", ["config", "lint"], []],
    ["plan", "a named pipe", ["config", "plan", "--config"], ["--node-version", "0.16.2"]],
  ])("gatehouse %s immediately rejects %s", async (name, what, before, after) => {
    const path = what === "a device" ? "/dev/zero" : await makePipe();
    const { status, stderr } = await runGatehouse([...before, path, ...after]);
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`${name}: ${path} can't be read (it is not a regular file); `),
    ]);
  });
});

describe("a service", () => {
  it("rejects settings, policies, routes, keys and secrets that are not regular files, without blocking on any", async () => {
    const pipe = await makePipe();
    const guarded = {
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: "http://127.0.0.1:1",
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_PRIVATE_ENABLED: "true",
      GATEHOUSE_GATEWAY_PRIVATE_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
    };
    const places: readonly (readonly [service: string, variable: string, more: Record<string, string>])[] = [
      ["upstream", "GATEHOUSE_UPSTREAM_SETTINGS_PATH", {}],
      ["gateway", "GATEHOUSE_GATEWAY_POLICY_PATH", guarded],
      ["gateway", "GATEHOUSE_GATEWAY_CALLERS_KEYS_PATH", guarded],
      [
        "resource-server",
        "GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH",
        { GATEHOUSE_RESOURCE_SERVER_PAY_TO: address, GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: address },
      ],
      ["facilitator", "GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE", {}],
    ];
    // Each service gets a pipe, on which startup could block forever. A device would test nothing more.
    for (const [service, variable, more] of places) {
      const { status, stderr } = await runGatehouse([service], { ...more, [variable]: pipe });
      expect([service, variable, status, stderr]).toEqual([
        service,
        variable,
        1,
        expect.stringMatching(/can't (be read|read ".*") \(it is not a regular file\)/),
      ]);
    }
  });
});

describe("a command without signal handlers", () => {
  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("exits on %s, as it must if it is the first process of a container", async (signal, status) => {
    const silentServer = await startSilentServer();
    const child = spawn(
      process.execPath,
      [gatehouseProgram, "pay", `http://127.0.0.1:${silentServer.port}/`, "--max-amount", "1", "--asset", address],
      {
        env: { PATH: process.env["PATH"] ?? "", GATEHOUSE_PAY_SIGNER_PRIVATE_KEY: `0x${"11".repeat(32)}` },
        stdio: "ignore",
      },
    );
    await silentServer.asked;
    child.kill(signal);
    // If the signal itself ended the process, the exit would be [null, signal]; if the kernel dropped the signal, there would be no exit.
    expect(await once(child, "exit")).toEqual([status, null]);
  });
});

/** Starts a service without dependencies, and waits until it accepts requests. */
async function startedService() {
  const child = fork(gatehouseProgram, ["upstream"], {
    env: { ...process.env, GATEHOUSE_UPSTREAM_LISTEN_PORT: "0" },
    silent: true,
  });
  const [message] = (await once(child, "message")) as [{ urls: { upstream: string } }];
  return { child, url: message.urls.upstream };
}

describe("a running service", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("stops cleanly on %s", async (signal) => {
    const { child, url } = await startedService();
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("logs more on SIGUSR2, and explains how to undo that", async () => {
    const { child } = await startedService();
    let said = "";
    child.stdout?.on("data", (part: Buffer) => (said += part.toString()));
    child.kill("SIGUSR2");
    await until("the change of level is logged", generousMs, () => said.includes("SIGUSR2 changes it back"));
    expect(JSON.parse(said.split("\n").find((line) => line.includes("SIGUSR2")) ?? "{}")).toMatchObject({
      "log.level": "warn",
      gatehouse: { changedTo: "debug" },
    });
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

describe("gatehouse pay", () => {
  it("reports the missing option and exits with 2", async () => {
    const url = "http://127.0.0.1:1/data";
    const noKey = await runGatehouse(["pay", url, "--max-amount", "10000", "--asset", address]);
    expect([noKey.status, noKey.stderr]).toEqual([
      2,
      "pay: no private key; specify its file with --key-file or GATEHOUSE_PAY_SIGNER_PRIVATE_KEY_FILE.\n",
    ]);
    const noFile = await runGatehouse(["pay", url, "--max-amount", "1", "--asset", address, "--key-file", "/nowhere"]);
    expect([noFile.status, noFile.stderr]).toEqual([
      2,
      "pay: --key-file: /nowhere can't be read (ENOENT); expected a file with a private key.\n",
    ]);
  });
});
