import type { Server } from "node:http";
import { Readable } from "node:stream";
import { BlockList, Socket, type Server as NetServer, type SocketAddress } from "node:net";
import type { SocketHandle } from "../hot-restart/socket-exchange.ts";

/**
 * Code that depends on undocumented Node internals: an accepted socket forwards its input via `push` and asks for more via `_read`; a server
 * serves connections through its "connection" listeners; it checks its `blockList` before it creates a socket; its listening socket is its
 * `_handle`, which can be sent to another process unchanged; a socket's handle reads into our buffer once the buffer and a callback are set
 * on the socket under two symbols. All such code is here and, for requests, in `request-chunks.ts`; the tests fail when Node changes.
 */

/** Returns the socket that a server listens on. A server itself can also be sent to another process, but would start to accept connections there. */
export function findListeningSocket(server: NetServer): SocketHandle {
  return (server as NetServer & Readonly<{ _handle: SocketHandle }>)._handle;
}

export type ServeConnection = (socket: Socket) => void;

/** Installs a handler that runs before the existing ones and can pass connections on to them; the one installed last runs first. */
export function prependHandler(server: Server, before: (behind: ServeConnection) => ServeConnection): void {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on(
    "connection",
    before((socket) => {
      for (const listener of listeners) Reflect.apply(listener, server, [socket]);
    }),
  );
}

class Admission extends BlockList {
  readonly #isAllowed: (remoteAddress: string) => boolean;

  constructor(isAllowed: (remoteAddress: string) => boolean) {
    super();
    this.#isAllowed = isAllowed;
  }

  override check(address: string | SocketAddress): boolean {
    return !this.#isAllowed(typeof address === "string" ? address : address.address);
  }
}

/** Checks connections before sockets are created for them, at a fifth of the cost; Node has no such option for `node:http` servers. */
export function filterConnections(server: NetServer, isAllowed: (remoteAddress: string) => boolean): void {
  Object.assign(server, { blockList: new Admission(isAllowed) });
}

/** Applies the same check in a server that accepts connections on another server's behalf. */
export function copyConnectionFilter(server: NetServer, other: NetServer): void {
  Object.assign(server, { blockList: (other as NetServer & Readonly<{ blockList?: BlockList }>).blockList });
}

export type SocketReads = Readonly<{
  /** Resumes reading after `received` returned false. */
  resume: () => void;
  /** Hands reading back to the socket's stream. */
  release: () => void;
}>;

const emptyBuffer = Buffer.alloc(0);
const ignore = () => undefined;

const readBytes = 65_536;
/** Buffer shared by all diverted reads: one read ends before the next starts. */
const readBuffer = Buffer.allocUnsafeSlow(readBytes);

/**
 * Symbols of a socket's read buffer and read callback; undefined if this Node version has different ones. Sockets are then read only
 * through `push`, with 7 to 10% more CPU for a call that reaches the node, and a fifth more for one that shares its response.
 */
const readInto = findReadSymbols();

function findReadSymbols(): Readonly<{ buffer: symbol; callback: symbol }> | undefined {
  const symbols = Object.getOwnPropertySymbols(new Socket());
  const [buffer, callback] = ["kBuffer", "kBufferCb"].map((name) => symbols.find((one) => one.description === name));
  return buffer === undefined || callback === undefined ? undefined : { buffer, callback };
}

type ReadingHandle = Readonly<{ useUserBuffer?: (buffer: Buffer) => void }>;

/** Makes a socket read into the shared buffer; each read calls `received`, and false stops reading until reads resume. */
function readIntoBuffer(socket: Socket, received: (bytes: Buffer) => boolean): void {
  const handle = (socket as Socket & Readonly<{ _handle?: ReadingHandle | null }>)._handle;
  if (readInto === undefined || handle?.useUserBuffer === undefined) return;
  const isFirst = Reflect.get(socket, readInto.buffer) !== readBuffer;
  if (isFirst) handle.useUserBuffer(readBuffer);
  const callback = (length: number) => received(readBuffer.subarray(0, length));
  Object.assign(socket, { [readInto.buffer]: readBuffer, [readInto.callback]: callback });
}

/**
 * Diverts an accepted socket's reads before they pass through its stream, as `onread` does for a client socket; Node has no such option for
 * a server's sockets. The stream's overhead, a garbage-collected buffer and a tick per read, is a large part of a short request's cost. End
 * and error events are unaffected. `received` returns false to pause until `resume`. The next read from any socket overwrites the bytes
 * passed to `received`, so copy any that must be retained.
 */
export function divertReads(socket: Socket, received: (bytes: Buffer) => boolean): SocketReads {
  let isStopped = false;
  let isReleased = false;
  const push = socket.push.bind(socket);
  // An empty chunk ends the stream's read, so that the stream reads again.
  const resumeReading = () => void push(emptyBuffer);
  const receive = (bytes: Buffer) => {
    isStopped = !received(bytes) && !isReleased;
    return !isStopped;
  };
  socket.push = (bytes: Buffer | null) => (bytes === null ? push(null) : receive(bytes));
  readIntoBuffer(socket, receive);
  return {
    resume: () => {
      if (!isStopped) return;
      isStopped = false;
      resumeReading();
    },
    release: () => {
      isReleased = true;
      isStopped = false;
      Reflect.deleteProperty(socket, "push");
      readIntoBuffer(socket, (bytes) => socket.push(copyBytes(bytes)));
      resumeReading();
    },
  };
}

function copyBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}

/** Pushes bytes back to the reader of a socket, as if they had just arrived. */
export function pushBackBytes(socket: Socket, bytes: Buffer): void {
  socket.push(bytes);
}

export type SlicedReads = Readonly<{
  /** Passes on the next slices after `mustWait` returned true. */
  next: () => void;
  /** Forwards about this many bytes at a time, in slices of any size: so few are cheap to process. */
  allow: (bytes: number) => void;
  /** Passes on the rest, and from then on all data without slicing it. */
  release: () => void;
}>;

/** Max bytes of a slice. */
const sliceBytes = 4_096;

/**
 * Passes a socket's input to its readers in slices of 4 KiB, each once `mustWait` returns false; `isFirst`: no slice is waiting. While a
 * slice waits, the socket is not read. Call it only after node:http has attached its parser, because attaching it parses all input at once.
 */
export function sliceReads(socket: Socket, mustWait: (isFirst: boolean) => boolean): SlicedReads {
  // node:http bypasses a socket's stream until the socket gets another data listener.
  socket.on("data", ignore).off("data", ignore);
  const push = socket.push.bind(socket);
  const readNext = socket._read.bind(socket);
  let rest: Buffer = emptyBuffer;
  let hasEnded = false;
  let allowedBytes = 0;
  const next = () => {
    // A destroyed socket's parser may already serve another connection.
    while (rest.length > 0 && !socket.destroyed) {
      // What a paused socket's stream buffers would later be parsed all at once.
      if (socket.isPaused()) return void socket.once("resume", () => setImmediate(next));
      const slice = rest.subarray(0, Math.max(sliceBytes, allowedBytes));
      rest = rest.subarray(slice.length);
      allowedBytes -= slice.length;
      push(slice);
      if (rest.length > 0 && mustWait(false)) return;
    }
    if (hasEnded) push(null);
  };
  const own = {
    push: (bytes: Buffer | null) => {
      if (bytes === null) {
        hasEnded = true;
        if (rest.length === 0) next();
        return false;
      }
      const isFirst = rest.length === 0;
      rest = isFirst ? bytes : Buffer.concat([rest, bytes]);
      if (isFirst && !mustWait(true)) next();
      return rest.length === 0;
    },
    // A socket's own methods would immediately resume reading.
    read: Readable.prototype.read.bind(socket),
    resume: Readable.prototype.resume.bind(socket),
    _read: (size: number) => {
      if (rest.length === 0) readNext(size);
    },
  };
  Object.assign(socket, own);
  return {
    next,
    allow: (bytes) => void (allowedBytes = bytes),
    release: () => {
      for (const name of Object.keys(own)) Reflect.deleteProperty(socket, name);
      if (rest.length > 0) push(rest);
      rest = emptyBuffer;
    },
  };
}
