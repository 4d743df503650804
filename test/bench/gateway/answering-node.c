/*
 * A node for the benchmark: answers each call at once, under the call's own id, with a result of the size that was asked for. One thread, and cheap
 * enough never to be what limits a proxy before it.
 *
 * answering-node PORT LEAST_BYTES MOST_BYTES FRAMING
 *
 * The size of an answer's body follows from the call's bytes, evenly on a logarithmic scale, so that each call has an answer of its own. FRAMING is
 * `length`, as hyper sends answers (reth, anvil), or `chunked`, as Go's net/http sends those from 2 KiB on (geth). A block comes every other second. A request of HTTP/1.0 is answered with a
 * length, and its connection closed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { connections_max = 8192, request_max = 65536, body_max = 131072, events_max = 256, chunked_from = 2048, block_seconds = 2 };

struct connection {
  char *request;
  size_t length;
};

static struct connection connections[connections_max];
static char digits[body_max];
static char out[body_max + 1024];
static double least, most;
static int is_chunked;
/* Whether the connection ends with the answer that is being made. */
static int is_last;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

/* FNV-1a. */
static uint32_t hash_of(const char *bytes, size_t length) {
  uint32_t hash = 0x811c9dc5;
  for (size_t at = 0; at < length; at += 1) hash = (hash ^ (unsigned char)bytes[at]) * 0x01000193;
  hash ^= hash >> 16;
  return hash * 0x7feb352d;
}

/* The date of now, made once a second. */
static const char *date_line(void) {
  static time_t made;
  static char line[64];
  time_t now = time(NULL);
  if (now != made) {
    struct tm parts;
    strftime(line, sizeof line, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    made = now;
  }
  return line;
}

/* Where the JSON text of the id begins in a body, and its length. */
static const char *id_of(const char *body, size_t length, size_t *id_length) {
  const char *name = memmem(body, length, "\"id\":", 5);
  if (name == NULL) return *id_length = 4, "null";
  const char *id = name + 5;
  while (*id == ' ') id += 1;
  const char *end = id;
  while (end < body + length && *end != ',' && *end != '}') end += 1;
  *id_length = (size_t)(end - id);
  return id;
}

/* Sends a head for a body of this length, the body's start, `filler` digits and its end. */
static void send_answer(int socket, const char *start, size_t filler, const char *end) {
  size_t length = strlen(start) + filler + strlen(end);
  int chunked = is_chunked && !is_last && length > chunked_from;
  char *at = out;
  if (is_chunked) {
    at += sprintf(at, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nVary: Origin\r\nDate: %s\r\n", date_line());
    if (chunked) at += sprintf(at, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", length);
    else at += sprintf(at, "Content-Length: %zu\r\n\r\n", length);
  } else {
    at += sprintf(at, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nvary: origin, access-control-request-method\r\n");
    at += sprintf(at, "content-length: %zu\r\ndate: %s\r\n\r\n", length, date_line());
  }
  at = stpcpy(at, start);
  at = mempcpy(at, digits, filler);
  at = stpcpy(at, end);
  if (chunked) at = stpcpy(at, "\r\n0\r\n\r\n");
  for (const char *from = out; from < at;) {
    ssize_t written = send(socket, from, (size_t)(at - from), MSG_NOSIGNAL);
    if (written <= 0) return;
    from += written;
  }
}

static void answer(int socket, const char *body, size_t length) {
  char start[512];
  size_t id_length;
  const char *id = id_of(body, length, &id_length);
  if (id_length > 256) id_length = 256;
  int written = sprintf(start, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":", (int)id_length, id);
  if (memmem(body, length, "\"eth_getBlockByNumber\"", 22) != NULL) {
    time_t now = time(NULL);
    unsigned number = (unsigned)now / block_seconds;
    sprintf(start + written, "{\"number\":\"0x%x\",\"hash\":\"0x%064x\",\"parentHash\":\"0x%064x\",\"timestamp\":\"0x%lx\"}}",
            number, number, number - 1, (long)now);
    send_answer(socket, start, 0, "");
    return;
  }
  double share = hash_of(body, length) / 4294967296.0;
  size_t size = (size_t)(least * pow(most / least, share));
  strcpy(start + written, "\"0x");
  size_t frame = strlen(start) + 2;
  send_answer(socket, start, size > frame ? size - frame : 1, "\"}");
}

/* Answers the whole requests that were read; 0 when the connection is to be closed. */
static int serve(int socket, struct connection *connection) {
  for (;;) {
    char *end = memmem(connection->request, connection->length, "\r\n\r\n", 4);
    if (end == NULL) return connection->length < request_max - 1;
    *end = 0;
    const char *field = strcasestr(connection->request, "\r\ncontent-length:");
    *end = '\r';
    size_t length = field == NULL ? 0 : strtoul(field + strlen("\r\ncontent-length:"), NULL, 10);
    size_t whole = (size_t)(end - connection->request) + 4 + length;
    if (whole >= request_max) return 0;
    if (connection->length < whole) return 1;
    const char *version = memmem(connection->request, (size_t)(end - connection->request), " HTTP/1.0\r\n", 11);
    is_last = version != NULL;
    answer(socket, end + 4, length);
    if (is_last) return 0;
    connection->length -= whole;
    memmove(connection->request, connection->request + whole, connection->length);
  }
}

static void forget(int socket) {
  free(connections[socket].request);
  connections[socket] = (struct connection){0};
  close(socket);
}

static void receive(int socket) {
  struct connection *connection = &connections[socket];
  ssize_t read = recv(socket, connection->request + connection->length, request_max - 1 - connection->length, 0);
  if (read <= 0) {
    forget(socket);
    return;
  }
  connection->length += (size_t)read;
  if (!serve(socket, connection)) forget(socket);
}

static void take(int listener, int epoll) {
  int socket = accept(listener, NULL, NULL);
  if (socket < 0) return;
  if (socket >= connections_max) {
    close(socket);
    return;
  }
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connections[socket] = (struct connection){.request = malloc(request_max)};
  struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) < 0) fail("epoll_ctl");
}

int main(int count, char **arguments) {
  if (count != 5) return fputs("usage: answering-node PORT LEAST_BYTES MOST_BYTES length|chunked\n", stderr), 2;
  least = atof(arguments[2]);
  most = atof(arguments[3]);
  is_chunked = strcmp(arguments[4], "chunked") == 0;
  if (least < 1 || most < least || most >= body_max) return fputs("sizes out of bounds\n", stderr), 2;
  memset(digits, '1', sizeof digits);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
  if (listen(listener, 1024) < 0) fail("listen");
  int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) < 0) fail("epoll_ctl");
  for (;;) {
    struct epoll_event events[events_max];
    int ready = epoll_wait(epoll, events, events_max, -1);
    for (int at = 0; at < ready; at += 1) {
      if (events[at].data.fd == listener) take(listener, epoll);
      else receive(events[at].data.fd);
    }
  }
}
