export default {
  paused: "paused",
  pause: "Pause",
  resume: "Resume",
  pauseOf: { queue: "Pause the queue {{name}}", nodeSet: "Pause the node set {{name}}", cluster: "Pause the whole cluster" },
  resumeOf: { queue: "Resume the queue {{name}}", nodeSet: "Resume the node set {{name}}", cluster: "Resume the cluster" },
  effect: {
    pause: {
      queue: "No job of {{name}} is started any more. Jobs that run go on; new ones may be submitted and wait.",
      nodeSet: "Nothing new is started on the nodes of {{name}}. What runs there goes on.",
      cluster: "Nothing new is started anywhere. What runs goes on; new jobs may be submitted and wait.",
    },
    resume: {
      queue: "Waiting jobs of {{name}} are started again, at once where there is room.",
      nodeSet: "Jobs are started on the nodes of {{name}} again.",
      cluster: "Jobs are started again at once. Queues and node sets that are paused themselves stay so.",
    },
  },
  nodeSets: "Node sets",
};
