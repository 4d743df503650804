import { expect, test } from "vitest";
import { readDocument } from "../testing/read-document.ts";
import { specifiesOwner, findOwnershipDifference, findValueDifference, readNodeValues } from "./node-values.ts";

const pathsDirectory = "/srv/a/bin";

const conf = JSON.stringify({
  chain: {
    monitor_config: { storage_cetina_job_name: "a" },
    secret_config: { domain_key_path: "/srv/a/keys/domain.key", stabilizing_key_path: "../keys/stabilizing.key" },
    startup_config: { init_config: { meta_path: "/srv/a/meta", http_port: "18100", ws_port: "18200" } },
  },
  storage: { mygrid_env: { storage_data_path: "/srv/a/data" } },
});
const read = (text: string) => readNodeValues(readDocument(text), pathsDirectory);
const values = read(conf);

test.each([
  ["/srv/a/data", "storage.mygrid_env.storage_data_path is /b in the backup, but /srv/a/data on the node"],
  ["/srv/a/meta", "chain.startup_config.init_config.meta_path is /b in the backup, but /srv/a/meta on the node"],
  [
    "/srv/a/keys/domain.key",
    "chain.secret_config.domain_key_path is /b in the backup, but /srv/a/keys/domain.key on the node",
  ],
  [
    "../keys/stabilizing.key",
    "chain.secret_config.stabilizing_key_path is /b in the backup, but /srv/a/keys/stabilizing.key on the node",
  ],
])("attributes a backup without %s to a different node", (value, words) => {
  const copy = read(conf.replace(value, "/b"));
  expect([findOwnershipDifference(copy, values), findValueDifference(copy, values)]).toEqual([words, words]);
});

test("reports a different port as a changed value, but not as a different node", () => {
  const copy = read(conf.replace("18200", "28200"));
  expect(findOwnershipDifference(copy, values)).toBeUndefined();
  expect(findValueDifference(copy, values)).toBe(
    "chain.startup_config.init_config.ws_port is 28200 in the backup, but 18200 on the node",
  );
  const without = read(conf.replace(',"ws_port":"18200"', ""));
  expect(findValueDifference(without, values)).toContain("ws_port is not set in the backup");
});

test("ignores values that may drift, and treats relative and absolute paths as equal", () => {
  const copy = read(conf.replace('"a"', '"b"').replace("/srv/a/data", "../data"));
  expect(findValueDifference(copy, values)).toBeUndefined();
  expect([specifiesOwner(values), specifiesOwner({})]).toEqual([true, false]);
});
