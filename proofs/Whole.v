(** (e) The parts together: both laws in Theorem 1'' and in Theorem 2. *)

From Coq Require Import ZArith QArith Lia Lqa List.
From Tarry Require Import Sums Streams Season Acts StreamSeason.
From Tarry Require ZeroInflated Block.
Open Scope Q_scope.

(** * The zero-inflated pair *)

Section ZeroInflatedPair.

Variables p q G L : Z.
Hypothesis ratio : (0 < q < p)%Z.
Hypothesis start_and_end : (0 < G < L)%Z.
Hypothesis long_enough : (L * q <= p * (L - G))%Z.

Let D : Z := ZeroInflated.whole p G L.
Let b : Z -> Z := ZeroInflated.b p G L.
Let u : Z -> Z := ZeroInflated.u p q G L.
Let R : Q := inject_Z p / inject_Z q.

(** What (a) says of it: the denominator is positive, *)
Lemma zi_D_positive : (0 < D)%Z.
Proof. unfold D, ZeroInflated.whole. nia. Qed.

(** both laws are laws of the delays 0 .. L-1, *)
Lemma zi_b_law : law D L b.
Proof.
  split.
  - now apply (ZeroInflated.b_not_negative p q).
  - intros. apply ZeroInflated.b_outside. lia.
  - now apply ZeroInflated.b_is_a_law.
Qed.

(** batched or not, *)
Lemma zi_u_law : law D L u.
Proof.
  split.
  - now apply ZeroInflated.u_not_negative.
  - now apply ZeroInflated.u_outside.
  - now apply ZeroInflated.u_is_a_law.
Qed.

(** and a batched delay is at most R times as likely as the shifted unbatched one. *)
Lemma zi_dominated k s : (0 <= s <= G)%Z -> over D b k <= R * over D u (k - s).
Proof.
  intros. apply over_dominates; [apply zi_D_positive | lia |]. now apply ZeroInflated.dominates.
Qed.

(** (a) in (c): n labels that differ cost R^n. *)
Theorem zero_inflated_streams : forall window hold places,
  (forall x y, In (x, y) places -> may_stand_for window G places y x) ->
  forall outcomes,
  chance_of_any window (over D b) (over D u) hold (truth places) outcomes <=
  power R (lost window places) * chance_of_any window (over D b) (over D u) hold (story places) outcomes.
Proof.
  intros window hold places neighbours. apply theorem_1 with (G := G); try assumption; try lia.
  - intros. apply over_not_negative; [apply zi_D_positive | apply zi_b_law].
  - intros. apply over_not_negative; [apply zi_D_positive | apply zi_u_law].
  - apply zi_dominated.
Qed.

(** The pair (P, Q) of the zero-inflated law has two outcomes: "it shows", with chances 1 and q / p, and "it
    does not", with chances 0 and 1 - q / p. *)
Definition shows (chance : Q) (i : Z) : Q := if (i =? 0)%Z then chance else 1 - chance.

(** The chance 1 / R is a chance. *)
Lemma one_over_R : 0 <= / R <= 1 /\ / R * R == 1.
Proof.
  assert (0 < inject_Z q) by (apply positive_denominator; lia).
  assert (inject_Z q < inject_Z p) by (rewrite <- Zlt_Qlt; lia).
  assert (/ R == inject_Z q / inject_Z p) as -> by (unfold R; field; split; lra).
  repeat split.
  - apply Qle_shift_div_l; lra.
  - apply Qle_shift_div_r; lra.
  - unfold R. field. split; lra.
Qed.

(** Two outcomes with a chance and the rest are a law. *)
Lemma shows_is_a_law chance : 0 <= chance <= 1 -> is_law 2 (shows chance).
Proof.
  intros. split.
  - intros i _. unfold shows. destruct (i =? 0)%Z; lra.
  - change (0 + shows chance 0 + shows chance 1 == 1). unfold shows. simpl. ring.
Qed.

(** Every shift is covered: b - c u <= b (1 - c / R) for each delay, and b sums to 1. *)
Lemma zi_covers s : (0 <= s <= G)%Z ->
  dominated 2 (shows 1) (shows (/ R)) (L + G) (over D (later 0 b)) (over D (later s u)).
Proof.
  intros shift c positive. destruct one_over_R as [[low high] inverse].
  pose proof (qpos_above (1 - c * / R)) as [above not_negative].
  apply Qle_trans with (qpos (1 - c * / R)).
  - assert (is_law (L + G) (over D (later 0 b))) as [_ total].
    { apply shifted_is_a_law; [apply zi_D_positive | lia | apply zi_b_law | lia]. }
    apply Qle_trans with (qsum (L + G) (fun k => qpos (1 - c * / R) * over D (later 0 b) k));
      [| rewrite qsum_times, total; lra].
    apply qsum_le. intros k _. pose proof (zi_dominated k s shift) as less.
    replace (over D (later 0 b) k) with (over D b k) by (unfold over, later; now rewrite Z.sub_0_r).
    change (over D (later s u) k) with (over D u (k - s)).
    assert (0 <= over D b k) by (apply over_not_negative; [apply zi_D_positive | apply zi_b_law]).
    assert (/ R * over D b k <= over D u (k - s)).
    { apply Qle_trans with (/ R * (R * over D u (k - s))); [nra | rewrite Qmult_assoc, inverse; lra]. }
    apply qpos_least; nra.
  - change (H c 2 (shows 1) (shows (/ R)))
      with (0 + qpos (shows 1 0 - c * shows (/ R) 0) + qpos (shows 1 1 - c * shows (/ R) 1)).
    pose proof (qpos_above (shows 1 1 - c * shows (/ R) 1)). unfold shows at 1 2. simpl. lra.
Qed.

(** N copies of that pair are one with ratio R^N: nothing cancels. *)
Lemma copies_of_shows N : forall X Y, 0 <= X -> 0 <= Y ->
  H_copies 2 (shows 1) (shows (/ R)) N X Y == qpos (X - Y * power (/ R) N).
Proof.
  destruct one_over_R as [[low high] _].
  induction N as [| N IH]; intros X Y posX posY; simpl H_copies; simpl power.
  - apply qpos_proper. ring.
  - unfold qsum. simpl. rewrite !IH; unfold shows; simpl; try nra.
    assert (0 <= power (/ R) N) by now apply power_positive.
    setoid_replace (qpos (X * (1 - 1) - Y * (1 - / R) * power (/ R) N)) with 0.
    + rewrite Qplus_0_l, Qplus_0_r. apply qpos_proper. ring.
    + apply Qle_antisym; [apply qpos_least; [lra |] | apply qpos_above].
      assert (0 <= Y * (1 - / R) * power (/ R) N) by (repeat apply Qmult_le_0_compat; lra). lra.
Qed.

(** (a) in (d): N acts that lose their label have H_c <= max(0, 1 - c / R^N), whatever depends on what. *)
Theorem zero_inflated_season : forall t N, loses_at_most L G N t -> forall c ends, 0 <= c ->
  let course := as_course D L G b u t in
  chance_in Truth course ends <= c * chance_in Story course ends + qpos (1 - c * power (/ R) N).
Proof.
  intros t N fits c ends positive course. destruct one_over_R as [bounds _].
  rewrite <- copies_of_shows by lra.
  apply season_costs; try assumption; try lia.
  - apply zi_D_positive.
  - apply zi_b_law.
  - apply zi_u_law.
  - apply shows_is_a_law. lra.
  - apply shows_is_a_law. lra.
  - apply zi_covers.
Qed.

End ZeroInflatedPair.

(** * Block laws *)

Section BlockPair.

Variables n G D : Z.
Variables b u : Z -> Z.
Hypothesis some_blocks : (0 < n)%Z.
Hypothesis some_ticks : (0 < G)%Z.
Hypothesis D_positive : (0 < D)%Z.
Hypothesis u_symmetric : forall i, u i = u (n - 1 - i)%Z.
Hypothesis b_symmetric : forall i, b i = b (n - i)%Z.
Hypothesis b_only_inside : forall i, (i < 0 \/ n <= i)%Z -> b i = 0%Z.
Hypothesis u_only_inside : forall i, (i < 0 \/ n <= i)%Z -> u i = 0%Z.
Hypothesis b_not_negative : forall i, (0 <= b i)%Z.
Hypothesis u_not_negative : forall i, (0 <= u i)%Z.
Hypothesis b_total : sum n b = D.
Hypothesis u_total : sum n u = D.

(** Every tick of a block alike. *)
Let ticks (masses : Z -> Z) : Z -> Z := Block.tick_mass G masses.

(** Ticks are a law where blocks are. *)
Lemma ticks_law masses :
  (forall i, (0 <= masses i)%Z) -> (forall i, (i < 0 \/ n <= i)%Z -> masses i = 0%Z) ->
  sum n masses = D -> law (D * G) (n * G) (ticks masses).
Proof.
  intros positive outside total. split.
  - intros. apply positive.
  - intros. now apply Block.ticks_only_inside with (n := n).
  - unfold ticks. rewrite Block.ticks_are_a_law by assumption. lia.
Qed.

(** (b) in (c): if no batched block has more than p / q times the unbatched one, n labels that differ cost
    (p / q)^n. *)
Theorem block_streams : forall p q, (0 < q)%Z -> (0 <= p)%Z -> (forall i, q * b i <= p * u i)%Z ->
  forall window hold places,
  (forall x y, In (x, y) places -> may_stand_for window G places y x) ->
  forall outcomes,
  let seen := chance_of_any window (over (D * G) (ticks b)) (over (D * G) (ticks u)) hold in
  seen (truth places) outcomes <=
  power (inject_Z p / inject_Z q) (lost window places) * seen (story places) outcomes.
Proof.
  intros p q posq posp less window hold places neighbours.
  apply theorem_1 with (G := G); try assumption; try lia.
  - intros. apply over_not_negative; [nia | apply b_not_negative].
  - intros. apply over_not_negative; [nia | apply u_not_negative].
  - intros k s shift. apply over_dominates; [nia | assumption |].
    now apply Block.dominates with (n := n).
Qed.

(** Every shift costs what the blocks cost as they stand. *)
Lemma block_covers s : (0 <= s <= G)%Z ->
  dominated n (over D b) (over D u) (n * G + G)
    (over (D * G) (later 0 (ticks b))) (over (D * G) (later s (ticks u))).
Proof.
  intros shift [y x] _. apply Qle_lteq. right. rewrite !H_of_integers by nia.
  replace (sum (n * G + G) _) with (Block.H n G b u (Zpos x) y s).
  - rewrite Block.cost_of_a_shift by assumption. unfold Block.H_same. rewrite sum_one_more by lia.
    rewrite (b_only_inside n), (u_only_inside n) by lia.
    replace (pos _) with 0%Z by (unfold pos; lia).
    pose proof (positive_denominator G some_ticks). pose proof (positive_denominator D D_positive).
    pose proof (positive_denominator (Zpos x) eq_refl).
    rewrite Z.add_0_r, !inject_Z_mult. field. repeat split; lra.
  - unfold Block.H. replace ((n + 1) * G)%Z with (n * G + G)%Z by ring.
    apply sum_ext. intros k _. unfold later. now rewrite Z.sub_0_r.
Qed.

(** (b) in (d): N acts that lose their label cost what N draws of a block each cost. *)
Theorem block_season : forall t N, loses_at_most (n * G) G N t -> forall c ends, 0 <= c ->
  let course := as_course (D * G) (n * G) G (ticks b) (ticks u) t in
  chance_in Truth course ends <= c * chance_in Story course ends + H_copies n (over D b) (over D u) N 1 c.
Proof.
  intros t N fits c ends positive. apply season_costs; try assumption; try nia.
  - now apply ticks_law.
  - now apply ticks_law.
  - now apply over_is_a_law.
  - now apply over_is_a_law.
  - apply block_covers.
Qed.

(** (b) in both: two streams of (c), of which n labels differ. *)
Theorem block_streams_season : forall window hold places,
  (forall x y, In (x, y) places -> may_stand_for window G places y x) ->
  forall outcomes, NoDup outcomes ->
  (forall outcome, In outcome outcomes -> length outcome = length places) ->
  forall c, 0 <= c ->
  let seen := chance_of_any window (over (D * G) (ticks b)) (over (D * G) (ticks u)) hold in
  seen (truth places) outcomes <=
  c * seen (story places) outcomes + H_copies n (over D b) (over D u) (lost window places) 1 c.
Proof.
  intros window hold places neighbours outcomes once lengths c positive.
  apply stream_costs with (width := (n * G)%Z) (G := G); try assumption; try nia.
  - now apply ticks_law.
  - now apply ticks_law.
  - now apply over_is_a_law.
  - now apply over_is_a_law.
  - apply block_covers.
Qed.

End BlockPair.
