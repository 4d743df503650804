import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root, listSourceFiles } from "./rooms.ts";

/** Programs alone: tests wait, and write wrong messages, as they need. */
const programs = listSourceFiles().filter(
  (path) => !path.startsWith("test/") && !path.includes("/testing/") && !path.endsWith(".test.ts"),
);

/** Things of which there is one, the sign of a second one, and the files that have a reason for their own. */
const once = [
  {
    what: "pause",
    home: "daemon/time.ts",
    sign: /from "node:timers\/promises"|new Promise[^;]{0,40}setTimeout\(resolve,/,
    // The client imports no other room.
    except: ["client/repeating-fetch.ts"],
  },
  {
    what: "flag of the settings",
    home: "daemon/settings/types.ts",
    sign: /z\s*\.boolean\(\)[^;]{0,300}expected: "true or false"/,
    except: [],
  },
  {
    what: "JSON-RPC request",
    home: "daemon/json-rpc.ts",
    sign: /jsonrpc: "2\.0"/,
    // A line to try at a terminal.
    except: ["cli/stack/things-to-try.ts"],
  },
  {
    what: "bounded body",
    home: "daemon/bytes.ts",
    sign: /for await \(const \w+ of (?:answer|incoming|message|request|response|stream)\b(?!\.body\.values)/,
    // A download goes to a file, and its limit is the archive's.
    except: ["sidecar/restore/download-archive.ts"],
  },
  {
    what: "wait until something holds",
    home: "daemon/time.ts",
    sign: /while \([^{]*(?:clock\.monotonicMs|performance\.now)\(\) < \w+\) \{[^}]*await pause\(/,
    except: [],
  },
  {
    what: "wait that doubles",
    home: "daemon/time.ts",
    sign: /Ms \* 2 \*\* /,
    except: [],
  },
  {
    what: "way to hash bytes that are there: hash() of node:crypto",
    home: "node:crypto",
    sign: /createHash\("sha256"\)\s*\.update\(/,
    // Goes on with what more files hold.
    except: ["infra/images/image-dependencies.ts"],
  },
  {
    what: "HTTP request by node:http",
    home: "daemon/http/send-request.ts",
    sign: /\brequest\b[^;]*\} from "node:https?"/,
    // What the engine answers is piped to whoever asked, and ends with its connection.
    except: ["engine-proxy/engine-proxy.ts"],
  },
  {
    what: "stop of a child that is killed when it takes too long",
    home: "daemon/process/stop-child.ts",
    sign: /kill\("SIGTERM"\)[^}]*setTimeout\(/,
    except: [],
  },
  {
    what: "look at a disk's room",
    home: "daemon/files/disk-space.ts",
    sign: /\bstatfs(?:Sync)?\(/,
    // Reads the kind of the file system.
    except: ["sidecar/upkeep/upgrade/data/changed-files.ts"],
  },
  {
    what: "default port of a service",
    home: "daemon/stack-services.ts",
    sign: /(?:default\(|[pP]ort: |[pP]ort = |number: )(?:9_?60[0-2]|8_?54[57]|4_?02[12]|9_?09[013]|18_?[12]00|5_?432)\b/,
    except: [],
  },
];

it.each(once)("there is one $what, in $home", ({ sign, home, except }) => {
  const found = programs.filter((path) => sign.test(readFileSync(join(root, path), "utf8")));
  expect(found.filter((path) => path !== home && !(except as readonly string[]).includes(path))).toEqual([]);
});

it("names no exception that is not one", () => {
  const gone = once.flatMap(({ sign, except }) =>
    except.filter((path) => !programs.includes(path) || !sign.test(readFileSync(join(root, path), "utf8"))),
  );
  expect(gone).toEqual([]);
});

/** Files that read by `readFile` all the same: the kernel's files and those that Kubernetes mounts do not hang. */
const readers = [
  "sidecar/upkeep/drivers/host-processes.ts",
  "sidecar/upkeep/drivers/kubernetes-api.ts",
  "sidecar/upkeep/drivers/signal-driver.ts",
  "sidecar/upkeep/restart/record-start.ts",
  "sidecar/upkeep/upgrade/data/data-stores.ts",
  "sidecar/upkeep/upgrade/data/rsync.ts",
];

const services = /^(?:daemon|engine-proxy|facilitator|gateway|health|node|resource-server|sidecar|status|x402)\//;

it("a service reads whole files by open ones: Node does not list a hanging readFile, so that the exit would hang with it", () => {
  const found = programs
    .filter((path) => services.test(path) && !path.endsWith(".main.ts"))
    .filter((path) =>
      /^import \{[^}]*\breadFile\b[^}]*\} from "node:fs\/promises"/m.test(readFileSync(join(root, path), "utf8")),
    );
  expect(found).toEqual(readers);
});
