import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { runGatehouse } from "../support/run-command.ts";
import { isLong, seed } from "../support/run-size.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/exit-codes.md"), "utf8");
const [commandCodes = "", payCodes = ""] = page.slice(0, page.indexOf("## Documents for programs")).split("## pay");
/** The exit codes that the page documents: for a command, the filled columns of its row, which start at 0; for `pay`, one item each. */
const promised = [
  ...[...commandCodes.matchAll(/^\| (?:`([a-z -]+)`|(services)) +\|(.+)\|$/gm)].flatMap(
    ([, command, all, cells = ""]) =>
      cells.split("|").flatMap((cell, code) => (cell.trim() === "" ? [] : [`${command ?? all} ${code}`])),
  ),
  ...[...payCodes.matchAll(/^- (\d): \S/gm)].map(([, code]) => `pay ${code}`),
];
const [, list = ""] = /^Services are (.+)$/m.exec(page) ?? [];
const services = [...list.matchAll(/`([a-z-]+)`/g)].map(([, name = ""]) => name);

const elsewhere: Readonly<Record<string, string>> = {
  "pay 0": "test/cli/pay.integration.test.ts",
  "pay 3": "test/cli/pay.integration.test.ts",
  "pay 4": "test/cli/pay.integration.test.ts",
  "pay 5": "test/cli/pay.integration.test.ts",
  "doctor 0": "test/cli/doctor.integration.test.ts",
  "doctor 2": "test/cli/doctor.integration.test.ts",
  "adopt 0": "test/sidecar/adopt.integration.test.ts",
  "resume 0": "test/sidecar/upkeep/control/control.integration.test.ts",
  "restart 0": "test/sidecar/restart-command.integration.test.ts",
  "restore 0": "test/sidecar/restore/restore.integration.test.ts",
  "volume-snapshot 0": "test/sidecar/volume-snapshot/volume-snapshots.integration.test.ts",
  "stack 0": "test/e2e/newcomer.e2e.test.ts",
  "status 0": "status/status-command.test.ts",
  "status 2": "status/status-command.test.ts",
  "upgrade 0": "test/sidecar/upgrade/upgrade-command.integration.test.ts",
  "contracts 0": "test/facilitator/contracts.integration.test.ts",
  "ledger export 0": "test/facilitator/refund.integration.test.ts",
  "ledger refund 0": "test/facilitator/refund.integration.test.ts",
  "services 0": "test/cli/gatehouse.integration.test.ts",
};

const conf = {
  chain: {
    monitor_config: {},
    secret_config: { domain_key_path: "keys/domain.key", stabilizing_key_path: "keys/stable.key" },
    startup_config: {
      init_config: {
        meta_path: "meta",
        host_ip: "127.0.0.1",
        http_port: "18100",
        rpc_port: "20000",
        tcp_port: "19000",
        ws_port: "18200",
      },
    },
  },
  storage: { mygrid_conf: {}, mygrid_env: { storage_data_path: "../data" } },
};

const directory = makeSharedDirectory();
const files = { right: "right.conf", drifted: "drifted.conf", bare: "bare.conf", none: "none.conf" };
const push = { GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "10.0.0.1" };
const payKey = { GATEHOUSE_PAY_SIGNER_PRIVATE_KEY: `0x${"11".repeat(32)}` };
const plan = (path: string) => `config plan --node-version 0.16.2 --config ${path}`;
const lint = "config lint --node-version 0.16.2 right.conf";
const nobody = "http://127.0.0.1:1";

/** Commands as typed, some with environment variables. */
type Case = string | readonly [typed: string, environment: Readonly<Record<string, string>>];
const cases: Readonly<Record<string, readonly Case[]>> = {
  "config lint 0": [lint],
  "config lint 1": [
    "config lint drifted.conf none.conf",
    "config lint",
    "config lint right.conf --format xml",
    "config lint right.conf --docs-url docs",
    "config lint right.conf --node-version new",
  ],
  "config lint 2": ["text", "json", "sarif", "github"].map((format) => `${lint} drifted.conf --format ${format}`),
  "config plan 0": [[plan(files.right), push]],
  "config plan 1": [
    `${plan(files.none)} --json`,
    plan(files.bare),
    "config plan --config right.conf",
    [plan(files.right), { GATEHOUSE_SIDECAR_MONITOR_PUSH_PORT: "many" }],
  ],
  "config plan 2": [
    [plan(files.drifted), push],
    [`${plan(files.drifted)} --json`, push],
  ],
  "pay 1": [[`pay ${nobody}/ --max-amount 1 --asset 0x${"aa".repeat(20)}`, payKey]],
  "pay 2": ["pay"],
  "doctor 1": [
    `doctor --url sidecar=${nobody}`,
    "doctor --outputs right.conf",
    "doctor --log right.conf",
    `doctor --url node=${nobody}`,
    "doctor --drift --outputs none.conf",
    "doctor --drift --outputs right.conf",
    "doctor --drift --url sidecar",
  ],
  "adopt 1": ["adopt --yes --state-directory none.conf"],
  "resume 1": ["resume --state-directory none.conf"],
  "restart 1": ["restart --yes --state-directory none.conf"],
  "restore 1": ["restore"],
  "volume-snapshot 1": ["volume-snapshot"],
  "contracts 1": [`contracts check --rpc-url ${nobody}`],
  "stack 1": ["stack --once --state-dir /dev/null/state"],
  "config dump 0": ["config dump devnet", "config dump sidecar --json --changed"],
  "config dump 1": ["config dump facilitator", "config dump sidcar"],
  "completion 0": ["bash", "zsh", "fish"].map((shell) => `completion ${shell}`),
  "completion 1": ["completion tcsh"],
  "status 1": [
    `status --url ${nobody}`,
    "status --url node",
    "status --targets none.conf",
    "status --page",
    "status --page --targets none.conf",
    `status --page --targets ${nobody} ${nobody}`,
    `status --targets ${nobody} --url ${nobody}`,
  ],
  "upgrade 1": ["upgrade none.conf --yes --state-directory none.conf", "upgrade"],
  "ledger export 1": ["ledger export", "ledger export --from yesterday"],
  "ledger refund 1": ["ledger refund a-payment", "ledger refund a-payment --amount 0.5"],
  "services 1": services.map((name) => `${name} --settings none.conf`),
};

beforeAll(async () => {
  for (const file of [files.bare, files.right]) await writeFile(join(directory, file), JSON.stringify(conf));
  expect((await runGatehouse(`${plan(files.right)} --write`.split(" "), push, directory)).status).toBe(0);
  const text = await readFile(join(directory, files.right), "utf8");
  await writeFile(join(directory, files.drifted), text.replace("storage_enable_cetina", "enable_pamir_cetina"));
});

describe("docs/exit-codes.md", () => {
  it("lists every command", async () => {
    const { stdout } = await runGatehouse(["--help"]);
    const listed = stdout.slice(stdout.indexOf("\nStart:"), stdout.indexOf("\nStart here:"));
    const commands = [...listed.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name);
    expect(commands.length).toBeGreaterThan(15);
    const documented = new Set([...promised.map((row) => row.split(" ")[0]), ...services]);
    expect(commands.filter((name) => !["help", "gatehouse"].includes(name) && !documented.has(name))).toEqual([]);
  });

  it("lists only exit codes that a test produces", () => {
    expect(promised.toSorted()).toEqual([...Object.keys(cases), ...Object.keys(elsewhere)].toSorted());
    expect(Object.values(elsewhere).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it.each(Object.entries(cases))("%s", async (row, all) => {
    for (const each of isLong ? all : all.filter((_, at) => at === seed % all.length)) {
      const [typed, environment] = typeof each === "string" ? [each] : each;
      const { status, stdout, stderr } = await runGatehouse(typed.split(" "), environment, directory);
      const expected = [typed, Number(row.split(" ").at(-1)), expect.stringMatching(/./)];
      expect([typed, status, stdout + stderr]).toEqual(expected);
      expect(stderr, "no command crashes").not.toMatch(/^ {4}at /m);
    }
  });
});
