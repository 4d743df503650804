import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "#daemon/testing/until.ts";
import { runGatehouse } from "../support/run-command.ts";
import { gatehouseProgram } from "../support/programs/place.ts";

const address = `0x${"aa".repeat(20)}`;

describe("gatehouse", () => {
  it("lists its commands, and suggests the one that was meant", async () => {
    const help = await runGatehouse(["--help"]);
    for (const name of ["stack", "sidecar", "facilitator", "resource-server", "pay", "devnet"]) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name}\\b`, "m"));
    }
    expect(help.stdout).not.toMatch(/^  pushgateway\b/m);
    const typo = await runGatehouse(["sidcar"]);
    expect([typo.status, typo.stderr]).toEqual([1, expect.stringContaining("Did you mean sidecar?")]);
  });

  it.each([
    ["config dump sidcar", "Did you mean sidecar?"],
    ["completion basj", "Did you mean bash?"],
    ["lint --format jsn", "Did you mean json?"],
    ["config dump nothing-like-it", "Choose one of sidecar, gateway,"],
    ["sidcar", '("gatehouse --help" lists the commands)'],
    ["sidecar --setings x", '("gatehouse sidecar --help" shows how to use it)'],
    ["pay --max-amout 1 http://x", '("gatehouse pay --help" shows how to use it)'],
    ["config dmp sidecar", '("gatehouse config --help" lists the commands)'],
  ])("%s: says %s", async (typed, suggestion) => {
    const { status, stderr } = await runGatehouse(typed.split(" "));
    expect([status, stderr]).toEqual([expect.any(Number), expect.stringContaining(suggestion)]);
    expect(status).not.toBe(0);
  });

  it("begins a facilitator's settings with what it can't start without, then with whom it serves, in 80 columns", async () => {
    const { stdout } = await runGatehouse(["facilitator", "--help"]);
    const settings = stdout.slice(stdout.indexOf("Settings to begin with:"), stdout.indexOf(" more have defaults"));
    expect([...settings.matchAll(/\[([\w.]+)\]$/gm)].map(([, key]) => key)).toEqual([
      "signer.privateKey",
      "assets",
      "payees",
      "chain.rpcUrl",
      "chain.id",
    ]);
    expect(settings.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("begins a service's help with the settings that matter and names the others, and explains all with --all", async () => {
    const { stdout } = await runGatehouse(["facilitator", "--help"]);
    expect(stdout).toContain("GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY  [signer.privateKey]");
    expect(stdout).toContain("GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE with a file's path");
    expect(stdout).not.toContain("GATEHOUSE_FACILITATOR_SETTLEMENT_BATCH_MAX");
    expect(stdout).toMatch(/^ {2}settlement +receiptTimeoutMs, .*drainMs/m);
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
    const directory = await mkdtemp(join(tmpdir(), "gatehouse-completion-"));
    onTestFinished(() => rm(directory, { recursive: true }));
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
  it("exits 1 and names the missing key of the facilitator", async () => {
    const { status, stderr } = await runGatehouse(["facilitator"]);
    expect(status).toBe(1);
    expect(stderr).toContain(
      "facilitator: GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: missing; expected a private key: 64 hexadecimal digits (0x optional)",
    );
  });

  it("exits 1 and names the missing recipient of the resource server, and all else that is missing", async () => {
    const { status, stderr } = await runGatehouse(["resource-server"]);
    expect(status).toBe(1);
    expect(stderr).toContain("resource-server: GATEHOUSE_RESOURCE_SERVER_PAY_TO: missing;");
    expect(stderr).toContain("resource-server: GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: missing;");
    expect(stderr).toContain("resource-server: GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: missing;");
  });

  it("never shows a secret that it refuses", async () => {
    const { stderr } = await runGatehouse(["facilitator"], { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: "0xsecret" });
    expect(stderr).not.toContain("0xsecret");
  });

  it("exits 1 and names the taken port with its setting", async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const { port } = squatter.address() as AddressInfo;
    const { status, stderr } = await runGatehouse(["upstream"], { GATEHOUSE_UPSTREAM_LISTEN_PORT: String(port) });
    expect([status, stderr]).toEqual([
      1,
      `upstream: port ${port} on 127.0.0.1 is taken; stop what uses it or set GATEHOUSE_UPSTREAM_LISTEN_PORT to another port.\n`,
    ]);
    squatter.close();
  });
});

describe("a command that reads a node.conf", () => {
  it.each([
    ["lint", ["lint"], []],
    ["plan", ["plan", "--config"], ["--node-version", "0.16.2"]],
  ])("refuses a named pipe and a device at once: gatehouse %s", async (name, before, after) => {
    const directory = await mkdtemp(join(tmpdir(), "gatehouse-pipe-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const pipe = join(directory, "node.conf");
    execFileSync("mkfifo", [pipe]);
    for (const path of [pipe, "/dev/zero"]) {
      const { status, stderr } = await runGatehouse([...before, path, ...after]);
      expect([status, stderr]).toEqual([
        1,
        expect.stringContaining(`${name}: ${path} can't be read (it is not a regular file); `),
      ]);
    }
  });
});

describe("a service", () => {
  it("refuses settings, policies, routes, keys and secrets that are no regular files, and waits for none", async () => {
    const directory = await mkdtemp(join(tmpdir(), "gatehouse-pipe-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const pipe = join(directory, "pipe");
    execFileSync("mkfifo", [pipe]);
    const guarded = {
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: "http://127.0.0.1:1",
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_PRIVATE_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
    };
    const places: readonly (readonly [service: string, variable: string, more: Record<string, string>])[] = [
      ["upstream", "GATEHOUSE_UPSTREAM_SETTINGS_PATH", {}],
      ["gateway", "GATEHOUSE_GATEWAY_POLICY_PATH", guarded],
      ["gateway", "GATEHOUSE_GATEWAY_CALLERS_KEYS_PATH", { ...guarded, GATEHOUSE_GATEWAY_PRIVATE_ENABLED: "true" }],
      [
        "resource-server",
        "GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH",
        { GATEHOUSE_RESOURCE_SERVER_PAY_TO: address, GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: address },
      ],
      ["facilitator", "GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE", {}],
    ];
    for (const [service, variable, more] of places) {
      for (const path of [pipe, "/dev/zero"]) {
        const { status, stderr } = await runGatehouse([service], { ...more, [variable]: path });
        expect([service, variable, status, stderr]).toEqual([
          service,
          variable,
          1,
          expect.stringMatching(/can't (be read|read ".*") \(it is not a regular file\)/),
        ]);
      }
    }
  });
});

describe("a command that has not requested signals", () => {
  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)(
    "ends by itself on %s, as it must where it is the first process of a container",
    async (signal, status) => {
      await using silent = await silentServer();
      const child = spawn(
        process.execPath,
        [gatehouseProgram, "pay", silent.url, "--max-amount", "1", "--asset", address],
        {
          env: { PATH: process.env["PATH"] ?? "", GATEHOUSE_PAY_SIGNER_PRIVATE_KEY: `0x${"11".repeat(32)}` },
          stdio: "ignore",
        },
      );
      await silent.asked;
      child.kill(signal);
      // Ended by the signal itself would be [null, signal], and never where the kernel drops it.
      expect(await once(child, "exit")).toEqual([status, null]);
    },
  );
});

/** Starts a service that needs nothing, and waits until it takes requests. */
async function startedService() {
  const child = fork(gatehouseProgram, ["upstream"], {
    env: { ...process.env, GATEHOUSE_UPSTREAM_LISTEN_PORT: "0" },
    silent: true,
  });
  const [message] = (await once(child, "message")) as [{ urls: { upstream: string } }];
  return { child, url: message.urls.upstream };
}

/** A server that takes a connection and says nothing. */
async function silentServer() {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => socket.destroy()));
    resolve();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("a running service", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("stops cleanly on %s", async (signal) => {
    const { child, url } = await startedService();
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("logs more on SIGUSR2, and says how that ends", async () => {
    const { child } = await startedService();
    let said = "";
    child.stdout?.on("data", (part: Buffer) => (said += part.toString()));
    child.kill("SIGUSR2");
    await until("the change of level is logged", 20_000, () => said.includes("SIGUSR2 changes it back"));
    expect(JSON.parse(said.split("\n").find((line) => line.includes("SIGUSR2")) ?? "{}")).toMatchObject({
      "log.level": "warn",
      gatehouse: { changedTo: "debug" },
    });
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("ends when the process that started it is gone", async () => {
    const { child } = await startedService();
    child.disconnect();
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

describe("gatehouse pay", () => {
  it("says what is wrong with an option and exits 2", async () => {
    const url = "http://127.0.0.1:1/data";
    const noKey = await runGatehouse(["pay", url, "--max-amount", "10000", "--asset", address]);
    expect([noKey.status, noKey.stderr]).toEqual([
      2,
      "pay: no key to pay with; name its file with --key-file or GATEHOUSE_PAY_SIGNER_PRIVATE_KEY_FILE.\n",
    ]);
    const noUrl = await runGatehouse(["pay"]);
    expect([noUrl.status, noUrl.stderr]).toEqual([2, expect.stringContaining("missing required argument 'url'")]);
    const unknown = await runGatehouse(["pay", url, "--max-amout", "1"]);
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining("Did you mean --max-amount?")]);
  });
});

describe("gatehouse plan and gatehouse lint", () => {
  const conf = `{ "chain": { "monitor_config": { "enable_pamir_cetina": true } } }\n`;
  const confFile = async () => {
    const folder = await mkdtemp(join(tmpdir(), "gatehouse-conf-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "node.conf");
    await writeFile(path, conf);
    return path;
  };

  it("lint names the key of another version with its place and exits 2", async () => {
    const path = await confFile();
    const { status, stdout } = await runGatehouse(["lint", path, "--node-version", "0.16.2"]);
    expect([status, stdout]).toEqual([
      2,
      expect.stringContaining(`${path}:1:34: chain.monitor_config.enable_pamir_cetina`),
    ]);
  });

  it("plan shows the difference and exits 2; with --write it applies it and exits 0; then nothing is left to do", async () => {
    const path = await confFile();
    const env = { GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1" };
    const plan = (...more: string[]) =>
      runGatehouse(["plan", "--config", path, "--node-version", "0.16.2", ...more], env);
    const shown = await plan();
    expect([shown.status, shown.stdout]).toEqual([2, expect.stringContaining('"storage_enable_cetina": true')]);
    expect(await readFile(path, "utf8")).toBe(conf);
    expect((await plan("--write")).status).toBe(0);
    expect(await readFile(path, "utf8")).toContain('"storage_enable_cetina": true');
    expect((await plan()).status).toBe(0);
  });
});
