// As `cli/launch.js` sets it, for the processes that tests run in: those of disks that hang take some of a process's threads for files.
process.env["UV_THREADPOOL_SIZE"] ??= "16";
