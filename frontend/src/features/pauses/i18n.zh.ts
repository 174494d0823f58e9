export default {
  paused: "已暂停",
  pause: "暂停",
  resume: "恢复",
  pauseOf: { queue: "暂停队列 {{name}}", nodeSet: "暂停节点集 {{name}}", cluster: "暂停整个集群" },
  resumeOf: { queue: "恢复队列 {{name}}", nodeSet: "恢复节点集 {{name}}", cluster: "恢复集群" },
  effect: {
    pause: {
      queue: "不再启动 {{name}} 的任何作业。运行中的作业继续运行；新作业仍可提交，但会等待。",
      nodeSet: "不再在 {{name}} 的节点上启动新作业。已在运行的作业继续运行。",
      cluster: "任何地方都不再启动新作业。运行中的作业继续运行；新作业仍可提交，但会等待。",
    },
    resume: {
      queue: "{{name}} 中等待的作业将重新开始启动；有空闲资源的会立即启动。",
      nodeSet: "将重新在 {{name}} 的节点上启动作业。",
      cluster: "将立即重新启动作业。单独暂停的队列和节点集仍保持暂停。",
    },
  },
  nodeSets: "节点集",
};
