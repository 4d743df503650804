import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { roomyMemory } from "../../testing/unlimited-memory.ts";
import type { PolicySource } from "../../policy.ts";
import { ClientSender, type ConnectedClient } from "./client-sender.ts";
import { serializeNotification, buildNotificationPrefix } from "../../notifications/notification.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const policy = (() => ({ settings: { limits: { batchResponseBytes: 5_000 } } })) as unknown as PolicySource;

/**
 * A sender to a client whose reads the test controls, with 1,000 bytes for notifications and responses of up to 5,000.
 */
function startSender() {
  const seen = { unsent: 0, closed: [] as unknown[], isTerminated: false, isFull: false, dropped: 0, hasMemory: true };
  const connection = {
    get writableLength() {
      return seen.unsent;
    },
    get writableNeedDrain() {
      return seen.isFull;
    },
    cork: () => undefined,
    uncork: () => undefined,
    write: (bytes: Buffer) => {
      seen.unsent += bytes.length;
      return true;
    },
  };
  const socket = {
    OPEN: 1,
    get readyState() {
      return seen.closed.length === 0 ? 1 : 2;
    },
    close: (...given: unknown[]) => seen.closed.push(...given),
    terminate: () => (seen.isTerminated = true),
  };
  const memory = { ...roomyMemory, waits: () => undefined, hold: () => seen.hasMemory };
  const sender = new ClientSender({ socket, connection, memory } as unknown as ConnectedClient, 1_000, {
    policy,
    dropped: () => (seen.dropped += 1),
  });
  const notify = (bytes: number) =>
    sender.sendNotification(buildNotificationPrefix('"0x1"'), serializeNotification(`"${"n".repeat(bytes)}"`));
  return { seen, sender, notify };
}

it("closes a client with 1013 if too many notifications are queued, and terminates it a second later", () => {
  const { seen, notify } = startSender();
  notify(700);
  expect(seen.closed).toEqual([]);
  notify(700);
  expect([seen.closed, seen.dropped, seen.isTerminated]).toEqual([[1013, "too slow"], 1, false]);
  const { unsent } = seen;
  notify(700);
  expect([seen.unsent, seen.dropped]).toEqual([unsent, 1]);
  vi.advanceTimersByTime(1_000);
  expect(seen.isTerminated).toBe(true);
});

it("allows one response of max size beyond the queue limit until it is read", () => {
  const { seen, sender, notify } = startSender();
  sender.send("a".repeat(4_900));
  notify(500);
  expect(seen.closed).toEqual([]);
  sender.send("a".repeat(4_900));
  expect(seen.closed).toEqual([1013, "too slow"]);
  const later = startSender();
  later.sender.send("a".repeat(4_900));
  later.seen.unsent = 0;
  for (const bytes of [700, 700]) later.notify(bytes);
  expect(later.seen.closed).toEqual([1013, "too slow"]);
});

it("closes a client that reaches its memory limit", () => {
  const { seen, sender } = startSender();
  sender.send("a".repeat(100));
  expect(seen.closed).toEqual([]);
  seen.hasMemory = false;
  sender.send("a".repeat(100_000));
  expect(seen.closed).toEqual([1013, "too slow"]);
});

it("does not join the chunks of a long response before its client reads them", () => {
  const { seen, sender } = startSender();
  const parts = Array.from({ length: 384 }, () => Buffer.alloc(65_536));
  seen.isFull = true;
  sender.send(parts);
  const before = process.memoryUsage().arrayBuffers;
  const used = process.threadCpuUsage();
  sender.send(parts);
  const { user, system } = process.threadCpuUsage(used);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(65_536);
  expect((user + system) / 1_000).toBeLessThan(5);
  expect(seen.unsent).toBe(0);
});
