import { expect, it } from "vitest";
import { listStackServices } from "../stack-services.ts";
import { serviceKeys } from "./service-keys.ts";

it.each(listStackServices())("accepts limits for the service %s", (service) => {
  const limits = { [service]: { cpus: 1, memoryMebibytes: 512 } };
  expect(serviceKeys.limits.parse(limits)).toEqual(limits);
});

const takes = (service: string) => serviceKeys.settings.safeParse({ [service]: {} }).success;

it("accepts settings for every service except those of third-party images", () => {
  expect(listStackServices().filter((service) => !takes(service))).toEqual([
    "pushgateway",
    "postgres",
    "prometheus",
    "alertmanager",
    "grafana",
  ]);
});

it("rejects limits of an unknown service, and lists the valid services", () => {
  expect(serviceKeys.limits.safeParse({ gateway: {} }).success).toBe(false);
  expect(serviceKeys.settings.meta()).toEqual({
    expected:
      "settings by service: node, sidecar, engine-proxy, restore, volume-snapshot, facilitator, resource-server, upstream",
    description: expect.stringContaining("Settings by service"),
  });
});
