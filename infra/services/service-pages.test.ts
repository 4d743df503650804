import { expect, it } from "vitest";
import { parseConfig } from "../stack-config.ts";
import { listServicePages } from "./service-pages.ts";

const token = { devAccounts: "true", tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2" };

const image = `registry.example/gatehouse@sha256:${"0".repeat(64)}`;

it("lists the pages that a Docker host publishes, including Grafana's", () => {
  const observability = JSON.stringify({ prometheus: {}, grafana: {} });
  expect(listServicePages(parseConfig({ ...token, statusPort: "19600", observability }))).toEqual([
    "resource-server=http://127.0.0.1:9601/",
    "sidecar=http://127.0.0.1:19600/",
    "prometheus=http://127.0.0.1:9090/",
    "grafana=http://127.0.0.1:3001/",
  ]);
});

it("lists the runbooks' port-forward URLs on Kubernetes", () => {
  expect(
    listServicePages(parseConfig({ ...token, target: "kubernetes", gatehouseImage: image, devnetImage: image })),
  ).toEqual([
    "sidecar=http://127.0.0.1:9600/",
    "facilitator=http://127.0.0.1:9602/",
    "resource-server=http://127.0.0.1:9601/",
  ]);
});
