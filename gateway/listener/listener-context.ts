import type { ListenerConnections } from "#daemon/http/connections/listener-connections.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { Identify } from "../callers/identify.ts";
import type { PeerInfo } from "../callers/request-facts.ts";
import type { BodyAdmission, MessageHandler } from "../calls/message-handler.ts";
import type { SubscriptionHub } from "../notifications/subscription-hub.ts";
import type { Meter } from "../observe/meter.ts";
import type { PolicySource } from "../policy.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import type { HttpError } from "./http-errors.ts";
import type { ResponseHeaders } from "./response-headers.ts";

/** What all requests share, on every listener. */
export type SharedContext = Readonly<{
  policy: PolicySource;
  handle: MessageHandler;
  turns: SharedTurns;
  memory: MemoryBudget;
  bodies: BodyAdmission;
}>;

/** State shared by all requests of one listener, from head to response. */
export type RequestContext = SharedContext &
  Readonly<{
    identify: Identify;
    /** Whether callers are identified by address alone: all requests with the same head on one connection then have the same caller. */
    identifiesByAddress: boolean;
    /** The listener's share of the process's connections. */
    connections: ListenerConnections;
    /** Returns the address against which a client's memory is counted. */
    addressOf: (peer: PeerInfo) => string;
    isAllowedHost: (host: string | undefined) => boolean;
    /** Returns the headers for a browser page of this origin; undefined if the origin is not allowed. */
    corsHeaders: (origin: string) => ResponseHeaders | undefined;
    /** Rejections of other hosts and origins, which name the settings. */
    rejections: Readonly<{ host: HttpError; origin: HttpError }>;
    /** Returns the headers appended to a response's own. */
    ageHeaders: () => ResponseHeaders;
    /** Whether the listener is about to stop: every connection closes after its response. */
    drain: Readonly<{ hasBegun: boolean }>;
  }>;

/** State shared by all clients of one listener, over HTTP and WebSocket. */
export type ListenerContext = RequestContext &
  Readonly<{
    hub: SubscriptionHub;
    /** Called when a WebSocket client is dropped, with the reason. */
    dropped: (reason: "slow" | "lost" | "silent" | "withdrawn") => void;
    limited: Meter["limited"];
    tookSlowPath: () => void;
    /** Whether a peer is a proxy, whose connections are shared by many callers. If absent, there are no proxies, and connections are not limited by address. */
    isProxy?: (remoteAddress: string) => boolean;
  }>;
