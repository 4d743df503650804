# Node and the libraries that it needs, from a Debian image that has it, and nothing else: no shell, no package manager.
ARG FULL_IMAGE
FROM ${FULL_IMAGE} AS full
FROM scratch
COPY --from=full /usr/local/bin/node /usr/local/bin/node
COPY --from=full /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 /lib64/
COPY --from=full /usr/lib/x86_64-linux-gnu/libatomic.so.1 \
  /usr/lib/x86_64-linux-gnu/libc.so.6 \
  /usr/lib/x86_64-linux-gnu/libdl.so.2 \
  /usr/lib/x86_64-linux-gnu/libgcc_s.so.1 \
  /usr/lib/x86_64-linux-gnu/libm.so.6 \
  /usr/lib/x86_64-linux-gnu/libpthread.so.0 \
  /usr/lib/x86_64-linux-gnu/libstdc++.so.6 \
  /usr/lib/x86_64-linux-gnu/
ENV PATH=/usr/local/bin
